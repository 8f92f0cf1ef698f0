//! Zeroed memory straight from the operating system, with huge pages where it is large and the system is Linux.
//!
//! The tables are touched at random: with 4 KiB pages most of the time goes into address translation. Fresh pages
//! come zeroed, so a large index costs nothing until it is used, and are given back at once on drop.

use std::ptr::NonNull;

/// A mapped region whose first bytes may be read and written.
#[derive(Debug)]
pub(super) struct Pages {
    start: NonNull<u64>,
    /// Bytes of the mapping.
    mapped: usize,
    /// Of them, those that may be used.
    used: usize,
}

/// What became of the bytes that were in use before there were more; the others are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Before {
    /// They are as they were.
    Kept,
    /// They are zero as well.
    Lost,
}

#[cfg(all(target_os = "linux", not(miri)))]
const HUGE: usize = 2 << 20;
/// The most address space that is set aside.
#[cfg(not(miri))]
const MOST_SET_ASIDE: u64 = 1 << 42;
const USABLE: libc::c_int = libc::PROT_READ | libc::PROT_WRITE;

impl Pages {
    /// Maps `words` zeroed words, or `None` when the system has no more memory.
    pub(super) fn zeroed(words: usize) -> Option<Self> {
        let bytes = words.checked_mul(8)?.max(8);
        let mut pages = Pages::map(bytes, USABLE)?;
        pages.used = bytes;
        pages.ask_for_huge();
        Some(pages)
    }

    /// Sets aside address space to grow in: `bytes` or what is sensible. Takes no memory before it is [used](Pages::use_more).
    #[cfg(not(miri))]
    pub(super) fn set_aside(bytes: u64) -> Option<Self> {
        Pages::map(bytes.clamp(1 << 16, MOST_SET_ASIDE) as usize, libc::PROT_NONE)
    }

    /// The same where Miri looks at every access: it knows no address space without memory.
    #[cfg(miri)]
    pub(super) fn set_aside(bytes: u64) -> Option<Self> {
        Pages::map(bytes.clamp(1 << 16, 1 << 18) as usize, USABLE)
    }

    /// Lets the first `bytes` be used, no fewer than before. `None` when the system has no more memory: then nothing has
    /// changed.
    pub(super) fn use_more(&mut self, bytes: usize) -> Option<Before> {
        debug_assert!(bytes >= self.used);
        if bytes > self.mapped {
            *self = Pages::zeroed(bytes.div_ceil(8))?;
            return Some(Before::Lost);
        }
        // SAFETY: the range lies within the mapping, which is this one's alone.
        if cfg!(not(miri)) && unsafe { libc::mprotect(self.start.as_ptr().cast(), bytes, USABLE) } != 0 {
            return None;
        }
        self.used = bytes;
        self.ask_for_huge();
        Some(Before::Kept)
    }

    /// Makes all that may be used zero.
    pub(super) fn clear(&mut self) {
        // SAFETY: these bytes may be written, and nobody else has the region.
        unsafe { self.start.as_ptr().cast::<u8>().write_bytes(0, self.used) };
    }

    fn map(bytes: usize, protection: libc::c_int) -> Option<Self> {
        // Miri knows no memory that is not reserved.
        let unreserved = if cfg!(miri) { 0 } else { libc::MAP_NORESERVE };
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | unreserved;
        // SAFETY: an anonymous private mapping of a non-zero length touches no existing memory.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return None;
        }
        NonNull::new(at.cast()).map(|start| Pages { start, mapped: bytes, used: 0 })
    }

    fn ask_for_huge(&self) {
        #[cfg(all(target_os = "linux", not(miri)))]
        if self.used >= 2 * HUGE {
            // SAFETY: the range lies within the mapping; the advice changes no contents, and may be refused.
            unsafe { libc::madvise(self.start.as_ptr().cast(), self.used, libc::MADV_HUGEPAGE) };
        }
    }

    /// The first word; page-aligned.
    pub(super) fn start(&self) -> NonNull<u64> {
        self.start
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `map`, unmapped once.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}

// SAFETY: `Pages` owns its mapping and hands out raw pointers only; who dereferences them synchronises.
unsafe impl Send for Pages {}
// SAFETY: as above; no method touches the contents of a shared one.
unsafe impl Sync for Pages {}
