//! Questions to servers of names, for signal mode. The C library receives the answer where the
//! program says, or in an allocation of its own; on a page that is missing it would be lost.

use crate::bytes::bounce::{Side, Way};
use crate::bytes::piece::Place;
use crate::next;
use crate::off_device;
use libc::{addrinfo, c_char, c_int, c_void, size_t, sockaddr, socklen_t};

/// Functions that ask. Before version 2.34 of the C library they have only the second name.
macro_rules! asks {
    ($($symbol:literal or $old:literal $name:ident = $next:ident
       ($($arg:ident: $type:ty),* $(; $sent:ident, $bytes:ident)?);)+) => {$(
        next!($next: $symbol(
            $($arg: $type,)* $($sent: *mut c_void, $bytes: c_int,)? answer: *mut c_void, n: c_int
        ) -> c_int, or {
            next!(old: $old(
                $($arg: $type,)* $($sent: *mut c_void, $bytes: c_int,)? answer: *mut c_void,
                n: c_int
            ) -> c_int);
            // SAFETY: passed on.
            unsafe { old($($arg,)* $($sent, $bytes,)? answer, n) }
        });

        /// # Safety
        /// C contract of the function of this name.
        #[unsafe(no_mangle)]
        pub unsafe extern "C-unwind" fn $name(
            $($arg: $type,)* $($sent: *mut c_void, $bytes: c_int,)? answer: *mut c_void, n: c_int
        ) -> c_int {
            let places = [const { Place::new() }; 2];
            let side = Side::new(&places[0], answer, n.max(0) as size_t, Way::In);
            $(
                let $sent = Side::new(&places[1], $sent, $bytes.max(0) as size_t, Way::Out);
                let $sent = $sent.at();
            )?
            // SAFETY: passed on, or memory of ours that is as long.
            let bytes = unsafe { $next($($arg,)* $($sent, $bytes,)? side.at(), n) };
            side.give(bytes.max(0) as size_t);
            bytes
        }
    )+};
}

asks! {
    c"res_query" or c"__res_query" res_query = next_query
        (name: *const c_char, class: c_int, kind: c_int);
    c"res_search" or c"__res_search" res_search = next_search
        (name: *const c_char, class: c_int, kind: c_int);
    c"res_querydomain" or c"__res_querydomain" res_querydomain = next_query_domain
        (name: *const c_char, domain: *const c_char, class: c_int, kind: c_int);
    c"res_nquery" or c"__res_nquery" res_nquery = next_nquery
        (by: *mut c_void, name: *const c_char, class: c_int, kind: c_int);
    c"res_nsearch" or c"__res_nsearch" res_nsearch = next_nsearch
        (by: *mut c_void, name: *const c_char, class: c_int, kind: c_int);
    c"res_nquerydomain" or c"__res_nquerydomain" res_nquerydomain = next_nquery_domain
        (by: *mut c_void, name: *const c_char, domain: *const c_char, class: c_int, kind: c_int);
    c"res_send" or c"__res_send" res_send = next_send(; sent, bytes);
    c"res_nsend" or c"__res_nsend" res_nsend = next_nsend(by: *mut c_void; sent, bytes);
}

off_device! {
    c"getaddrinfo" getaddrinfo = next_getaddrinfo
        (name: *const c_char, service: *const c_char, wanted: *const addrinfo,
         to: *mut *mut addrinfo) -> c_int;
    c"getnameinfo" getnameinfo = next_getnameinfo
        (of: *const sockaddr, n: socklen_t, name: *mut c_char, room: socklen_t,
         service: *mut c_char, more: socklen_t, flags: c_int) -> c_int;
    c"gethostbyname" gethostbyname = next_by_name(name: *const c_char) -> *mut c_void;
    c"gethostbyname2" gethostbyname2 = next_by_name2
        (name: *const c_char, family: c_int) -> *mut c_void;
    c"gethostbyaddr" gethostbyaddr = next_by_address
        (of: *const c_void, n: socklen_t, family: c_int) -> *mut c_void;
    c"gethostbyname_r" gethostbyname_r = next_by_name_r
        (name: *const c_char, to: *mut c_void, room: *mut c_char, n: size_t,
         found: *mut *mut c_void, error: *mut c_int) -> c_int;
    c"gethostbyname2_r" gethostbyname2_r = next_by_name2_r
        (name: *const c_char, family: c_int, to: *mut c_void, room: *mut c_char, n: size_t,
         found: *mut *mut c_void, error: *mut c_int) -> c_int;
    c"gethostbyaddr_r" gethostbyaddr_r = next_by_address_r
        (of: *const c_void, len: socklen_t, family: c_int, to: *mut c_void, room: *mut c_char,
         n: size_t, found: *mut *mut c_void, error: *mut c_int) -> c_int;
}
