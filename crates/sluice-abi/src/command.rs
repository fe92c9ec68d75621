//! What the entries of the control ring say.

use crate::ring::{RING_VERSION, TEXT_AT, TEXT_BYTES, WORDS, Words};

/// The range is addresses of the program, not bytes of the device.
const ADDRESSES: u32 = 1;

macro_rules! codes {
    (
        $(#[$outer:meta])*
        $name:ident {
            $($(#[$doc:meta])* $variant:ident = $code:literal, $text:literal;)+
        }
    ) => {
        $(#[$outer])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name { $($(#[$doc])* $variant = $code),+ }

        impl $name {
            /// All, in the order of their codes.
            pub const ALL: &[$name] = &[$($name::$variant),+];

            /// The one with a code.
            pub fn of(code: u32) -> Option<$name> {
                $name::ALL.iter().copied().find(|one| *one as u32 == code)
            }

            /// What it means, in the words of a message.
            pub fn text(self) -> &'static str {
                match self { $($name::$variant => $text),+ }
            }
        }
    };
}

codes! {
    /// What is to be done.
    Operation {
        /// Bring the pages in, and keep them until they are unpinned.
        Pin = 1, "pin";
        /// Let them leave again.
        Unpin = 2, "unpin";
        /// Bring them in.
        Prefetch = 3, "prefetch";
        /// Take them out, programming those that were written.
        Evict = 4, "evict";
        /// Program those that were written. They stay cached.
        Flush = 5, "flush";
        /// Give parameters other values: the text is `key=value` pairs with blanks between them.
        Set = 6, "set";
        /// Bring the statistics up to date.
        Stats = 7, "stats";
        /// Let those that are cached be the next to leave.
        Cold = 8, "cold";
        /// They will be accessed in no foreseeable way, as at the start.
        Normal = 9, "normal";
        /// They will be accessed in no order: accesses to them send for no other page.
        Random = 10, "random";
        /// They will be accessed in order: those next in line are sent for, those passed go cold.
        Sequential = 11, "sequential";
        /// The block door's read. Pages that are cached come from there, others do not enter the
        /// cache. Its commands are answered at once: `done_ns` says when the device will be done.
        BlockRead = 12, "block read";
        /// The block door's write of whole pages, whose contents are in the device's memory
        /// already. Cached copies end.
        BlockWrite = 13, "block write";
        /// The block door's TRIM: the pages have no contents any more.
        BlockTrim = 14, "block trim";
    }
}

codes! {
    /// How an entry ended.
    Status {
        /// Carried out, and something changed.
        Done = 0, "done";
        /// Nothing was to be done: all was so already.
        Nothing = 1, "nothing to do";
        /// Some pages were refused; the reason says why the first of them was.
        Partly = 2, "refused in part";
        /// Every page was refused, or the parameters were. Nothing changed.
        Refused = 3, "refused";
        /// The entry is of another version of the ring. Nothing changed, as with all that follow.
        BadVersion = 16, "wrong version";
        /// There is no such operation.
        BadOperation = 17, "no such operation";
        /// A flag or word is set that means nothing.
        BadReserved = 18, "a reserved bit is set";
        /// The range is empty, or not all of it is on the device.
        BadRange = 19, "the range is empty or not on the device";
        /// The text is too long, or no text.
        BadText = 20, "bad text";
    }
}

codes! {
    /// Why a page was refused.
    Reason {
        /// It was not.
        None = 0, "";
        /// More pages of its set would be pinned than `cache.pin_max` allows.
        SetPinned = 1, "as many pages of its set are pinned as cache.pin_max allows";
        /// It is pinned.
        Pinned = 2, "it is pinned: unpin it first";
        /// The cache is full of pages of the same command, or of pages that cannot leave.
        NoRoom = 3, "the cache has no room for more of them";
        /// The program took it off the device, by changing its protection.
        OffDevice = 4, "the program took it off the device by changing its protection";
        /// The kernel holds it in place.
        Held = 5, "the kernel holds it in place";
        /// The device is one that has no cache.
        NoCache = 6, "the device has no cache";
        /// The persistent store cannot keep it.
        Store = 7, "its store cannot keep it: the command that runs the program says why";
        /// So many flash blocks have failed that the device takes no more writes.
        ReadOnly = 8, "so many flash blocks have failed that the device takes no more writes";
    }
}

/// Text of fixed room.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Text {
    bytes: [u8; TEXT_BYTES],
    len: usize,
}

impl core::fmt::Debug for Text {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

impl Text {
    /// A text of no bytes, which a slot has before anybody wrote one.
    pub const EMPTY: Text = Text {
        bytes: [0; TEXT_BYTES],
        len: 0,
    };

    /// The text; `None` if it is too long.
    pub fn new(text: &str) -> Option<Text> {
        (text.len() <= TEXT_BYTES).then(|| Text::cut(text))
    }

    /// As much of the text as there is room for.
    pub fn cut(text: &str) -> Text {
        let mut len = text.len().min(TEXT_BYTES);
        while !text.is_char_boundary(len) {
            len -= 1;
        }
        let mut bytes = [0; TEXT_BYTES];
        bytes[..len].copy_from_slice(&text.as_bytes()[..len]);
        Text { bytes, len }
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or_default()
    }

    fn store(&self, words: &mut Words) {
        for (word, bytes) in words[TEXT_AT..].iter_mut().zip(self.bytes.as_chunks().0) {
            *word = u64::from_le_bytes(*bytes);
        }
    }

    fn load(words: &Words, len: u64) -> Option<Text> {
        let mut text = Text::EMPTY;
        for (word, bytes) in words[TEXT_AT..].iter().zip(text.bytes.as_chunks_mut().0) {
            *bytes = word.to_le_bytes();
        }
        text.len = usize::try_from(len).ok().filter(|len| *len <= TEXT_BYTES)?;
        let rest_is_zero = text.bytes[text.len..].iter().all(|byte| *byte == 0);
        let is_text = core::str::from_utf8(&text.bytes[..text.len]).is_ok();
        (rest_is_zero && is_text).then_some(text)
    }
}

/// Bytes that a command is about: all pages that they touch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first.
    pub start: u64,
    /// How many, at least 1.
    pub len: u64,
    /// Whether they are addresses of the program; otherwise they are bytes of the device.
    pub is_address: bool,
}

/// A well-formed submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// `Pin` to `Flush`, and `Cold` to `BlockTrim`.
    Pages(Operation, Range),
    /// `Set`.
    Set(Text),
    /// `Stats`.
    Stats,
}

/// A submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Submission {
    /// The client's own number, which comes back with the completion.
    pub tag: u64,
    /// What is to be done.
    pub request: Request,
}

impl Submission {
    /// The words: operation, version and flags; tag; start; length; length of the text; zeros up
    /// to word 10; text.
    pub fn to_words(&self) -> Words {
        let mut words = [0; WORDS];
        let (operation, flags) = match &self.request {
            Request::Pages(operation, range) => {
                [words[2], words[3]] = [range.start, range.len];
                (*operation, if range.is_address { ADDRESSES } else { 0 })
            }
            Request::Set(text) => {
                words[4] = text.len as u64;
                text.store(&mut words);
                (Operation::Set, 0)
            }
            Request::Stats => (Operation::Stats, 0),
        };
        let version = u64::from(RING_VERSION) << 16;
        words[0] = operation as u64 | version | u64::from(flags) << 32;
        words[1] = self.tag;
        words
    }

    /// Reads words that may be anything.
    ///
    /// # Errors
    /// What is wrong with them.
    pub fn from_words(words: &Words) -> Result<Submission, Status> {
        let [operation, version] = [words[0] as u16, (words[0] >> 16) as u16];
        let flags = (words[0] >> 32) as u32;
        if version != RING_VERSION {
            return Err(Status::BadVersion);
        }
        let operation = Operation::of(u32::from(operation)).ok_or(Status::BadOperation)?;
        let is_zero = |from: usize, to: usize| words[from..to].iter().all(|word| *word == 0);
        let request = match operation {
            Operation::Set if flags == 0 && is_zero(2, 4) && is_zero(5, TEXT_AT) => {
                Request::Set(Text::load(words, words[4]).ok_or(Status::BadText)?)
            }
            Operation::Stats if flags == 0 && is_zero(2, WORDS) => Request::Stats,
            Operation::Set | Operation::Stats => return Err(Status::BadReserved),
            _ if flags & !ADDRESSES != 0 || !is_zero(4, WORDS) => {
                return Err(Status::BadReserved);
            }
            _ => {
                let [start, len] = [words[2], words[3]];
                if len == 0 || start.checked_add(len).is_none() {
                    return Err(Status::BadRange);
                }
                let is_address = flags & ADDRESSES != 0;
                let range = Range {
                    start,
                    len,
                    is_address,
                };
                Request::Pages(operation, range)
            }
        };
        let tag = words[1];
        Ok(Submission { tag, request })
    }
}

/// What became of a submission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The submission's.
    pub tag: u64,
    /// How it ended.
    pub status: Status,
    /// Why the first page was refused that was.
    pub reason: Reason,
    /// Pages of the range.
    pub pages: u64,
    /// Those for which something was done.
    pub changed: u64,
    /// Pages that were so already.
    pub already: u64,
    /// Pages that were refused.
    pub refused: u64,
    /// The first page that was refused, as a byte of the device.
    pub first_refused: u64,
    /// When it was done, or with the block door will be, ns since the device was started.
    pub done_ns: u64,
    /// What was wrong with parameters.
    pub text: Text,
}

impl Completion {
    /// An answer that concerns no page.
    pub fn new(tag: u64, status: Status) -> Completion {
        Completion {
            tag,
            status,
            reason: Reason::None,
            pages: 0,
            changed: 0,
            already: 0,
            refused: 0,
            first_refused: 0,
            done_ns: 0,
            text: Text::EMPTY,
        }
    }

    /// The words: status and reason; tag; pages, changed, already, refused; the first refused;
    /// when; length of the text; zero; text.
    pub fn to_words(&self) -> Words {
        let mut words = [0; WORDS];
        words[0] = self.status as u64 | (self.reason as u64) << 32;
        words[1] = self.tag;
        [words[2], words[3], words[4]] = [self.pages, self.changed, self.already];
        [words[5], words[6], words[7]] = [self.refused, self.first_refused, self.done_ns];
        words[8] = self.text.len as u64;
        self.text.store(&mut words);
        words
    }

    /// Reads words; `None` if they are no completion of this version.
    pub fn from_words(words: &Words) -> Option<Completion> {
        Some(Completion {
            tag: words[1],
            status: Status::of(words[0] as u32)?,
            reason: Reason::of((words[0] >> 32) as u32)?,
            pages: words[2],
            changed: words[3],
            already: words[4],
            refused: words[5],
            first_refused: words[6],
            done_ns: words[7],
            text: Text::load(words, words[8])?,
        })
    }
}
