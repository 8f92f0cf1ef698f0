//! hadal-store
