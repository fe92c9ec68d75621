//! Where a command's result goes.

use crate::error::Error;
use crate::program;
use clap::Args;
use sluice_results::Folder;
use std::path::PathBuf;

/// The options that every command with a result has for it.
#[derive(Clone, Debug, Default, Args)]
pub struct ResultArgs {
    /// Print the result as one JSON object on the last line of standard output
    #[arg(long)]
    pub json: bool,
    /// Keep the result in this folder, with what it takes to repeat it (`sluice again`) and to draw
    /// it (`sluice report`; of simulated hosts, fabrics and files, `sluice sweep`)
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace the result that the folder of --out holds
    #[arg(long)]
    pub force: bool,
}

impl ResultArgs {
    /// The folder that was asked for.
    pub fn folder(&self) -> Result<Option<Folder>, Error> {
        let out = self.out.as_deref();
        out.map(|out| program::out_folder(out, self.force))
            .transpose()
    }
}

/// Writes to the folder that was asked for. The result is printed whether or not that goes well,
/// so that it is not lost.
pub fn keep(
    folder: Option<&Folder>,
    write: impl FnOnce(&Folder) -> std::io::Result<()>,
) -> Result<(), Error> {
    folder.map_or(Ok(()), |folder| {
        write(folder).map_err(Error::system("writing the output folder"))
    })
}
