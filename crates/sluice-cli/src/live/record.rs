//! The record of traps that a process leaves in its session.

use sluice_abi::RecordHeader;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::mem::offset_of;
use std::path::Path;

/// The record without the room that is left; nothing if none was kept, also by a process that was
/// killed before its file had room for one.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = match File::open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(bytes),
        opened => opened?,
    };
    let header = size_of::<RecordHeader>();
    match (&mut file).take(header as u64).read_to_end(&mut bytes)? {
        0 => return Ok(bytes),
        there if there < header => {
            let why = format!(
                "{} has {there} bytes, fewer than the {header} that its record begins with: \
                 something cut it; give the command again",
                path.display()
            );
            return Err(io::Error::new(ErrorKind::UnexpectedEof, why));
        }
        _ => {}
    }
    let word = |at: usize| u64::from_ne_bytes(*bytes[at..].first_chunk().expect("a word"));
    let (room, traps) = (
        offset_of!(RecordHeader, capacity),
        offset_of!(RecordHeader, count),
    );
    let kept = word(room).min(word(traps));
    file.take(8 * kept).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::read;
    use sluice_abi::RecordHeader;

    /// What a record of these bytes reads as.
    fn of(name: &str, bytes: &[u8]) -> std::io::Result<Vec<u8>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        read(&path)
    }

    #[test]
    fn a_process_that_was_killed_at_its_start_has_recorded_nothing() {
        assert_eq!(of("traps-1.bin", b"").unwrap(), b"");
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(&folder.path().join("traps-2.bin")).unwrap(), b"");
    }

    #[test]
    fn a_cut_record_is_named() {
        let error = of("traps-3.bin", &[1; 12]).unwrap_err().to_string();
        let about = "has 12 bytes, fewer than the 48 that its record begins with";
        assert!(
            error.contains("traps-3.bin") && error.contains(about),
            "{error}"
        );
    }

    #[test]
    fn the_room_that_is_left_is_no_part_of_it() {
        let words = |numbers: &[u64]| -> Vec<u8> {
            numbers
                .iter()
                .flat_map(|number| number.to_ne_bytes())
                .collect()
        };
        let header = size_of::<RecordHeader>() / 8;
        // Room for four, and two of them used.
        let mut record = vec![7, 4, 2];
        record.resize(header, 0);
        record.extend([11, 12, 0, 0]);
        let kept = words(&record[..header + 2]);
        assert_eq!(of("traps-4.bin", &words(&record)).unwrap(), kept);
    }
}
