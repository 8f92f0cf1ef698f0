//! hadal-search
