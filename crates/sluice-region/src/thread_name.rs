//! Names of threads, read on the path of a fault.

use crate::{sys, thread_id};

/// Bytes of a thread's name, with the zero behind it.
pub const THREAD_NAME: usize = 16;

/// The name of a thread of this process, ended by a zero; `None` if the system does not say.
/// Allocates nothing.
///
/// Of another thread than the caller's it takes a descriptor for a moment.
pub fn thread_name(id: u32) -> Option<[u8; THREAD_NAME]> {
    let mut name = [0; THREAD_NAME];
    if id == thread_id() {
        // SAFETY: the kernel writes 16 bytes.
        unsafe { sys!(libc::SYS_prctl, libc::PR_GET_NAME, name.as_mut_ptr()) }.ok()?;
        return Some(name);
    }
    let mut path = *b"/proc/self/task/\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    let end = write_number(&mut path, 16, id);
    path[end..end + 6].copy_from_slice(b"/comm\0");
    let flags = libc::O_RDONLY | libc::O_CLOEXEC;
    // SAFETY: a terminated path, and room for what is read.
    let read = unsafe {
        let file = sys!(libc::SYS_openat, libc::AT_FDCWD, path.as_ptr(), flags).ok()?;
        let read = sys!(libc::SYS_read, file, name.as_mut_ptr(), THREAD_NAME);
        let _ = sys!(libc::SYS_close, file);
        read.ok()?
    };
    // The last byte is the line's end.
    name[read.checked_sub(1)?] = 0;
    Some(name)
}

/// Writes a number at a place. Returns where it ends.
fn write_number(text: &mut [u8], at: usize, number: u32) -> usize {
    let digits = number.checked_ilog10().unwrap_or(0) as usize + 1;
    let mut rest = number;
    for place in (at..at + digits).rev() {
        text[place] = b'0' + (rest % 10) as u8;
        rest /= 10;
    }
    at + digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_have_the_names_that_they_were_given() {
        let (send, receive) = std::sync::mpsc::channel();
        let (end, wait) = std::sync::mpsc::channel::<()>();
        let other = std::thread::Builder::new().name("reader-of-15-ch".into());
        let other = other.spawn(move || {
            send.send(thread_id()).expect("somebody listens");
            assert_eq!(
                &thread_name(thread_id()).expect("a name"),
                b"reader-of-15-ch\0"
            );
            let _ = wait.recv();
        });
        let id = receive.recv().expect("a thread");
        assert_eq!(&thread_name(id).expect("a name"), b"reader-of-15-ch\0");
        drop(end);
        other.expect("a thread").join().expect("no panic");
        assert_eq!(thread_name(0), None);
    }

    #[test]
    fn numbers_are_written_with_all_their_digits() {
        for number in [0, 9, 10, 4_194_304, u32::MAX] {
            let mut text = [0; 12];
            let end = write_number(&mut text, 1, number);
            assert_eq!(text[1..end], *number.to_string().as_bytes());
        }
    }
}
