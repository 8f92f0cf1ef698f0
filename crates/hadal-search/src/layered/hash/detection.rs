//! Detection in buckets, for the table of strategies.

use super::sample::initial_partition;
use super::structured::StructuredDetector;
use super::{HashDetector, Partition, Tabling};
use crate::layered::detection::{BUCKET_CACHE_SHARE, Detection, LEAST_CACHE_SHARE, Payloads, TABLE_SHARE};
use crate::strategy::PartitionSource;
use std::time::Instant;

/// Potential buckets of the initial partition, at most, and the memory each should have.
const MOST_BUCKETS: u64 = 1000;
const BYTES_PER_BUCKET: u64 = 256 << 10;

/// In buckets, which are split as they grow.
pub(crate) static HASH: Detection = Detection {
    cache_share: BUCKET_CACHE_SHARE,
    payloads: Payloads::Merged,
    make: |making| {
        let (space, strategy) = (making.space, making.strategy);
        let wanted = (making.governor.limit() / BYTES_PER_BUCKET).clamp(16, MOST_BUCKETS);
        let begun = Instant::now();
        let partition = match &strategy.partition {
            PartitionSource::Sampled(sampling) => {
                initial_partition(space, making.governor, wanted, *sampling)
            }
            PartitionSource::Names(names) => {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                Partition::by_names(space, &names)?
            }
            PartitionSource::Saved(text) => Partition::load(space, text)?,
        };
        let sampling = begun.elapsed();
        let parting = (partition, strategy.split_by);
        let table = match strategy.shared_table {
            true => Tabling::InTurn(making.share(BUCKET_CACHE_SHARE + TABLE_SHARE)),
            false => Tabling::Own(making.share(TABLE_SHARE)),
        };
        let detector = HashDetector::new(
            making.disk,
            making.options,
            parting,
            (table, making.threads),
            strategy.looking(),
        )?;
        Ok(Box::new(detector.sampled_in(sampling)))
    },
};

/// In tables, of which those that successors fall into are in RAM.
pub(crate) static STRUCTURED: Detection = Detection {
    cache_share: LEAST_CACHE_SHARE,
    payloads: Payloads::Refused(
        "structured detection decides on a state when it is first generated, before its payloads are complete",
    ),
    make: |making| {
        let threads = making.threads.max(1);
        Ok(Box::new(StructuredDetector::new(making.disk, making.options, making.space, threads)?))
    },
};
