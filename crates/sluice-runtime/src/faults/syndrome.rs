//! What the processor says of a failed access on arm64. The kernel hands it to a handler of signals
//! among the records behind the registers.

/// A record begins with a word: what it is in the lower half, its bytes in the upper.
const SYNDROME: u32 = 0x4553_5201;
const END: u32 = 0;
/// The access was a write, or keeps up the caches: that counts as a write there, and is none.
const WRITE: u64 = 1 << 6;
const CACHE: u64 = 1 << 8;

/// Whether the access that failed was a write. Of an access without a syndrome nobody knows.
pub fn is_write(mut records: &[u64]) -> bool {
    while let [head, inside @ ..] = records {
        let (kind, bytes) = (*head as u32, (head >> 32) as usize);
        match kind {
            SYNDROME => {
                return inside
                    .first()
                    .is_some_and(|told| told & (WRITE | CACHE) == WRITE);
            }
            END => return false,
            _ if bytes < size_of::<u64>() => return false,
            _ => records = records.get(bytes / size_of::<u64>()..).unwrap_or(&[]),
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A record of so many words that are all the same.
    fn record(kind: u32, words: usize, of: u64) -> Vec<u64> {
        let mut record = vec![of; words];
        record[0] = u64::from(kind) | (words as u64 * 8) << 32;
        record
    }

    #[test]
    fn a_write_is_told_from_a_read() {
        // Data aborts as a processor reports them, behind the record of the vector registers.
        let cases = [
            (0x9200_0007, false),
            (0x9200_0047, true),
            (0x9200_0147, false),
        ];
        for (told, is) in cases {
            let vectors = record(0x4650_8001, 66, !0);
            let records = [vectors, record(SYNDROME, 2, told), vec![0; 4]].concat();
            assert_eq!(is_write(&records), is, "{told:x}");
        }
    }

    #[test]
    fn records_without_a_syndrome_end() {
        let write = record(SYNDROME, 2, WRITE);
        let behind_the_end = [vec![0; 2], write.clone()].concat();
        let never_ends = [vec![1], write.clone()].concat();
        let too_long = [record(1, 64, 0)[..2].to_vec(), write].concat();
        for records in [
            vec![],
            behind_the_end,
            never_ends,
            too_long,
            vec![SYNDROME.into()],
        ] {
            assert!(!is_write(&records), "{records:x?}");
        }
    }
}
