//! Threads of the runtime that are there before anything depends on them.
//!
//! The kernel may give fewer than are needed, where a limit of tasks is met. So all are made first,
//! and wait; none has begun anything if one of them cannot be.

use crate::threads::gone::await_that;
use crate::threads::thread;
use core::ffi::c_void;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering::*};
use sluice_region::{Descriptors, Main, futex_wait, futex_wake};

/// The most handlers that a session has, and the server of the control ring.
const MAX: usize = 65;

/// Nobody waits here.
const FREE: u32 = 0;
/// A thread waits to hear what it is for.
const WAITS: u32 = 1;
/// It is to run what is written here.
const WORKS: u32 = 2;
/// It is to end.
const LEAVES: u32 = 3;

/// Where a thread waits.
struct Post {
    state: AtomicU32,
    main: AtomicPtr<()>,
    argument: AtomicPtr<c_void>,
}

static POSTS: [Post; MAX] = [const {
    Post {
        state: AtomicU32::new(FREE),
        main: AtomicPtr::new(core::ptr::null_mut()),
        argument: AtomicPtr::new(core::ptr::null_mut()),
    }
}; MAX];

impl Post {
    fn is(&self, state: u32) -> bool {
        self.state.load(Acquire) == state
    }

    fn tell(&self, state: u32) {
        self.state.store(state, Release);
        futex_wake(&self.state);
    }
}

/// Has so many threads wait, or none. By the one thread that starts others, which shares its
/// descriptors with them. `before` is called first, if some are to be made.
///
/// # Errors
/// The kernel's, which does not give as many.
pub fn hire(count: usize, before: impl FnOnce()) -> Result<(), i32> {
    let there = POSTS.iter().filter(|post| post.is(WAITS)).count();
    let missing = count.saturating_sub(there);
    if missing > 0 {
        before();
    }
    let free = POSTS.iter().filter(|post| post.is(FREE));
    for post in free.take(missing) {
        post.state.store(WAITS, Release);
        let at = core::ptr::from_ref(post).cast_mut().cast();
        // SAFETY: the post is never freed, and nobody else's until its thread leaves it.
        let started = unsafe { thread::spawn(wait, at, Descriptors::Shared) };
        if started.is_err() {
            post.state.store(FREE, Release);
            dismiss();
            return started;
        }
    }
    Ok(())
}

/// Ends those that wait.
pub fn dismiss() {
    let there = POSTS.iter().filter(|post| post.is(WAITS)).count();
    let left = thread::running() - there;
    let waiting = POSTS.iter().filter(|post| post.is(WAITS));
    waiting.for_each(|post| post.tell(LEAVES));
    await_that(|_| thread::running() <= left);
}

/// Has a thread that waits run something; where none does, a new one.
///
/// # Errors
/// The kernel's, which gives no new one.
///
/// # Safety
/// `main` can run with `argument` in another thread.
pub unsafe fn begin(main: Main, argument: *mut c_void) -> Result<(), i32> {
    let Some(post) = POSTS.iter().find(|post| post.is(WAITS)) else {
        // SAFETY: passed on.
        return unsafe { thread::spawn(main, argument, Descriptors::Shared) };
    };
    post.main.store(main as *mut (), Relaxed);
    post.argument.store(argument, Relaxed);
    post.tell(WORKS);
    Ok(())
}

/// In the child of a fork: nobody waits.
pub fn after_fork_in_child() {
    let all = POSTS.iter();
    all.for_each(|post| post.state.store(FREE, Release));
}

extern "C" fn wait(post: *mut c_void) -> ! {
    // SAFETY: one of the posts.
    let post = unsafe { &*post.cast::<Post>() };
    while post.is(WAITS) {
        futex_wait(&post.state, WAITS, None);
    }
    let (main, argument) = (post.main.load(Relaxed), post.argument.load(Relaxed));
    if post.state.swap(FREE, AcqRel) == LEAVES {
        thread::leave();
    }
    // SAFETY: what `begin` was given, whose caller vouches for it.
    let main = unsafe { core::mem::transmute::<*mut (), Main>(main) };
    main(argument)
}
