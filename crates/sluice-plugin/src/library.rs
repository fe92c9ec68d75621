//! A shared object with one constant in it: loaded and checked.

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};

/// A loaded object with its constant.
pub struct Loaded<T: 'static> {
    /// Keeps the code mapped, and with it the constant.
    pub library: Library,
    /// The constant. Not to be looked at when the library is gone.
    pub symbol: &'static T,
    kind: &'static str,
}

impl<T> Loaded<T> {
    /// What to say about a function that is not there.
    pub fn lacks(&self, name: &str) -> String {
        format!("`sluice_{}.{name}` is a null pointer", self.kind)
    }
}

/// Loads an object and checks that its constant `sluice_KIND` is of version `abi` and as large as
/// a `T`, whose first two words are its version and its size.
///
/// # Errors
/// What is wrong with it, on one line.
pub fn load<T>(path: &str, kind: &'static str, abi: u32) -> Result<Loaded<T>, String> {
    // Without a slash the loader would look among the system's libraries.
    let place = std::path::Path::new(".").join(path);
    // SAFETY: loading runs the object's constructors. The user names the object to be run: there
    // is no other way to run it.
    let library = unsafe { Library::open(Some(&place), RTLD_NOW | RTLD_LOCAL) };
    let library = library.map_err(|e| format!("cannot be loaded: {}", reason(&e)))?;
    let name = format!("sluice_{kind}");
    // SAFETY: a symbol's address is only looked at below.
    let symbol = unsafe { library.get::<*const T>(&name) };
    let Ok(symbol) = symbol.map(|symbol| *symbol) else {
        return Err(format!("defines no `{name}`; {name}.h declares it"));
    };
    // SAFETY: whatever the version, the object starts with these two words.
    let [has, size] = unsafe { symbol.cast::<[u32; 2]>().read_unaligned() };
    if has != abi {
        return Err(format!(
            "is of {kind} ABI {has}, this Sluice takes {abi}; build it against the {name}.h of \
             this Sluice"
        ));
    }
    if (size as usize) < size_of::<T>() {
        let whole = size_of::<T>();
        return Err(format!(
            "`{name}` says it has {size} bytes instead of {whole}"
        ));
    }
    // SAFETY: of this version and size, so it has this layout; it is a constant.
    let symbol = unsafe { &*symbol };
    Ok(Loaded {
        library,
        symbol,
        kind,
    })
}

/// What the loader said, on one line.
fn reason(error: &libloading::Error) -> String {
    let source = std::error::Error::source(error).map(ToString::to_string);
    let text = source.unwrap_or_else(|| error.to_string());
    text.lines().collect::<Vec<_>>().join(" ")
}
