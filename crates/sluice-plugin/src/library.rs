//! A shared object with one constant in it: loaded and checked.

use crate::file::{self, FileError};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use thiserror::Error;

/// What is wrong with a shared object, on one line.
#[derive(Debug, Error)]
pub enum LibraryError {
    /// The loader does not take it.
    #[error("cannot be loaded: {}", reason(.0))]
    Load(#[source] libloading::Error),
    /// The loader is not asked.
    #[error(transparent)]
    File(#[from] FileError),
    /// It is no shared object at all.
    #[error("a class in Python is taken in Python only, as `policy=` of `sluice.simulate`")]
    Python,
    /// It has no such constant.
    #[error("defines no `{name}`; {name}.h declares it")]
    NoConstant {
        /// What the constant is called.
        name: String,
    },
    /// It was built for another version of the interface.
    #[error(
        "is of {kind} ABI {has}, this Sluice takes {}; build it against the sluice_{kind}.h of \
         this Sluice",
        takes(*oldest, *newest)
    )]
    Version {
        /// What it is: `policy`, `prefetcher` or `memory`.
        kind: &'static str,
        /// Its version.
        has: u32,
        /// The oldest version that it can have.
        oldest: u32,
        /// The newest one.
        newest: u32,
    },
    /// Its constant is too short.
    #[error("`{name}` says it has {bytes} bytes instead of {whole}")]
    Short {
        /// What the constant is called.
        name: String,
        /// How long it says that it is.
        bytes: u32,
        /// How long it is at least.
        whole: usize,
    },
    /// It lacks a function that it must have.
    #[error("`sluice_{kind}.{function}` is a null pointer")]
    Lacks {
        /// What it is: `policy`, `prefetcher` or `memory`.
        kind: &'static str,
        /// The function's name in the constant.
        function: &'static str,
    },
    /// It has one of two functions that need each other.
    #[error("has one of `{first}` and `{second}`; they go together")]
    Half {
        /// A function's name in the constant.
        first: &'static str,
        /// The other one's.
        second: &'static str,
    },
    /// A text for it cannot be a C text.
    #[error("`{name}` has a zero in it")]
    Zero {
        /// What the text is.
        name: &'static str,
    },
    /// It made nothing.
    #[error("its build function failed")]
    Build,
}

/// A loaded object with its constant.
pub struct Loaded<T: 'static> {
    /// Keeps the code mapped, and with it the constant.
    pub library: Library,
    /// The constant. Not to be looked at when the library is gone.
    pub symbol: &'static T,
    kind: &'static str,
}

impl<T> Loaded<T> {
    /// A function of the constant, which must be there.
    ///
    /// # Errors
    /// [`LibraryError::Lacks`] if it is not.
    pub fn must<F>(&self, name: &'static str, function: Option<F>) -> Result<F, LibraryError> {
        function.ok_or(LibraryError::Lacks {
            kind: self.kind,
            function: name,
        })
    }
}

/// A loaded object whose constant was found, and no more is known of it than its version.
pub struct Opened {
    library: Library,
    symbol: *const [u32; 2],
    kind: &'static str,
    name: String,
    /// The version of the constant.
    pub abi: u32,
}

/// Loads an object and checks that its constant `sluice_KIND`, whose first two words are its
/// version and its size, is of a version from `oldest` to `newest`.
///
/// # Errors
/// What is wrong with it.
pub fn open(
    path: &str,
    kind: &'static str,
    oldest: u32,
    newest: u32,
) -> Result<Opened, LibraryError> {
    // Without a slash the loader would look among the system's libraries.
    let place = std::path::Path::new(".").join(path);
    file::check(&place)?;
    // SAFETY: loading runs the object's constructors. The user names the object to be run: there
    // is no other way to run it.
    let library = unsafe { Library::open(Some(&place), RTLD_NOW | RTLD_LOCAL) };
    let is_python = place.extension().is_some_and(|end| end == "py");
    let library = library.map_err(|error| match is_python {
        true => LibraryError::Python,
        false => LibraryError::Load(error),
    })?;
    let name = format!("sluice_{kind}");
    // SAFETY: a symbol's address is only looked at below.
    let symbol = unsafe { library.get::<*const [u32; 2]>(&name) };
    let Ok(symbol) = symbol.map(|symbol| *symbol) else {
        return Err(LibraryError::NoConstant { name });
    };
    // SAFETY: whatever the version, the object starts with these two words.
    let [has, _] = unsafe { symbol.read_unaligned() };
    if !(oldest..=newest).contains(&has) {
        return Err(LibraryError::Version {
            kind,
            has,
            oldest,
            newest,
        });
    }
    Ok(Opened {
        library,
        symbol,
        kind,
        name,
        abi: has,
    })
}

impl Opened {
    /// The constant as what its version says that it is, a `T`.
    ///
    /// # Errors
    /// [`LibraryError::Short`].
    pub fn constant<T>(self) -> Result<Loaded<T>, LibraryError> {
        // SAFETY: as in `open`.
        let [_, bytes] = unsafe { self.symbol.read_unaligned() };
        if (bytes as usize) < size_of::<T>() {
            return Err(LibraryError::Short {
                name: self.name,
                bytes,
                whole: size_of::<T>(),
            });
        }
        // SAFETY: of this version and size, so it has this layout; it is a constant.
        let symbol = unsafe { &*self.symbol.cast::<T>() };
        Ok(Loaded {
            library: self.library,
            symbol,
            kind: self.kind,
        })
    }
}

/// Loads an object and checks that its constant `sluice_KIND` is of version `abi` and as large as
/// a `T`, whose first two words are its version and its size.
///
/// # Errors
/// What is wrong with it.
pub fn load<T>(path: &str, kind: &'static str, abi: u32) -> Result<Loaded<T>, LibraryError> {
    open(path, kind, abi, abi)?.constant()
}

/// The versions that are taken, in words.
fn takes(oldest: u32, newest: u32) -> String {
    match oldest == newest {
        true => newest.to_string(),
        false => format!("{oldest} to {newest}"),
    }
}

/// What the loader said, on one line.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    let text = source.unwrap_or_else(|| error.to_string());
    text.lines().collect::<Vec<_>>().join(" ")
}
