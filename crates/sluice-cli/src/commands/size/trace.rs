//! Of a trace: every access is known.

use super::{Seen, SizeArgs, answer};
use crate::error::Error;
use crate::traces::{at, name_of, open, open_replay};
use sluice_model::DeviceConfig;
use sluice_replay::Placement;
use sluice_results::{Folder, SizeMethod};
use sluice_simulation::{Timing, Uses};
use sluice_trace::Kind;
use sluice_units::LINE_BYTES;
use std::path::Path;
use std::process::ExitCode;

pub fn run(
    path: &Path,
    args: &SizeArgs,
    config: &DeviceConfig,
    folder: Option<&Folder>,
) -> Result<ExitCode, Error> {
    let replay = open_replay(path, Placement::Touch)?;
    let name = name_of(path);
    if replay.footprint() > config.capacity() {
        return Err(Error::TooLarge {
            workload: name,
            bytes: replay.footprint().0,
            room: config.capacity().0,
        });
    }
    let page_bytes = config.page_bytes();
    let mut uses = Uses::new(page_bytes);
    let (mut reader, mut accesses, mut before) = (open(path)?, 0, 0);
    while let Some(block) = reader.next_block().map_err(|error| at(path, error))? {
        for access in block.iter().filter(|access| access.kind != Kind::Fetch) {
            if accesses == args.warmup && accesses > 0 {
                uses.warm();
            }
            // The device is asked for each line.
            if accesses < args.warmup {
                before += access.last() / LINE_BYTES - access.address / LINE_BYTES + 1;
            }
            accesses += 1;
            replay
                .touched(access, page_bytes)
                .for_each(|page| uses.touch(page));
        }
    }
    if args.warmup > 0 && accesses <= args.warmup {
        return Err(Error::value(
            "--warmup",
            args.warmup,
            format!("the trace has {accesses} accesses"),
        ));
    }
    let seen = Seen {
        workload: &name,
        method: SizeMethod::Trace,
        uses,
        profile: None,
    };
    let timing = Timing::Trace {
        replay: &replay,
        warmup: before,
    };
    answer(args, config, &seen, &timing, folder)?;
    Ok(ExitCode::SUCCESS)
}
