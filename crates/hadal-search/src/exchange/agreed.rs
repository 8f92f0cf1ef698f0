//! What workers agree on beside the states they send.

use super::{Exchange, Lost, Said, Words};

/// What all say in a round in which this worker wants no states.
pub(crate) fn agree(exchange: &dyn Exchange, words: &[u64]) -> Result<Vec<Vec<u64>>, Lost> {
    if exchange.shares().workers() == 1 {
        return Ok(vec![words.to_vec()]);
    }
    let (round, mut unwanted) = (exchange.round(), Vec::new());
    exchange.say(round, words)?;
    loop {
        // Whatever is on its way is not wanted any more.
        while exchange.arrived(round, &mut unwanted)? {}
        if let Some(heard) = exchange.heard(round)? {
            return Ok(heard);
        }
        exchange.wait();
    }
}

/// The bytes that the first worker has which has any.
pub(crate) fn bytes_of_one(exchange: &dyn Exchange, own: &[u8]) -> Result<Option<Vec<u8>>, Lost> {
    let words = own.chunks(8).map(|bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    });
    let said = Said::default().word(own.len() as u64).list(&words.collect::<Vec<_>>()).into_words();
    for words in &agree(exchange, &said)? {
        let mut words = Words::new(words);
        let length = words.word() as usize;
        if length > 0 {
            let mut bytes: Vec<u8> = words.list().iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.truncate(length);
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// The newest commit that all of some runs keep, where there is one: `own` are the numbers of those that this worker looks after,
/// run by run.
pub(crate) fn in_common(exchange: &dyn Exchange, own: &[Vec<u64>]) -> Result<Option<u64>, Lost> {
    let said = own.iter().fold(Said::default().word(own.len() as u64), |said, kept| said.list(kept));
    let mut all = Vec::new();
    for words in &agree(exchange, &said.into_words())? {
        let mut words = Words::new(words);
        (0..words.word()).for_each(|_| all.push(words.list().to_vec()));
    }
    let Some((first, others)) = all.split_first() else { return Ok(None) };
    Ok(first.iter().copied().filter(|moment| others.iter().all(|kept| kept.contains(moment))).max())
}
