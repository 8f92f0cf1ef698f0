//! hadal-exec
