//! Ordered partitions of the elements, refined by keys.
//!
//! A cell is a stretch of [`Partition::order`]; its *colour* is the position where it starts, so a refinement never
//! changes the colour of cells before it and a discrete partition is a permutation: element `e` goes to position
//! `colour(e)`.

/// An ordered partition of the elements of all scalarsets; no cell spans two scalarsets.
#[derive(Clone, Debug)]
pub(super) struct Partition {
    order: Vec<u16>,
    colour: Vec<u16>,
    /// Length of the cell that starts at a position; stale where no cell starts.
    length: Vec<u16>,
    cells: usize,
}

/// Room for the keys of one cell while it is sorted.
pub(super) type KeyBuffer = Vec<(u64, u16)>;

impl Partition {
    /// One cell per scalarset, given their bases and sizes.
    pub fn unit(sets: impl Iterator<Item = (u16, u16)>) -> Partition {
        let mut unit = Partition { order: Vec::new(), colour: Vec::new(), length: Vec::new(), cells: 0 };
        for (base, size) in sets {
            unit.order.extend(base..base + size);
            unit.colour.extend(std::iter::repeat_n(base, usize::from(size)));
            unit.length.extend(std::iter::repeat_n(size, usize::from(size)));
            unit.cells += 1;
        }
        unit
    }

    /// Becomes equal to `other`, without allocating where the sizes agree.
    #[inline]
    pub fn copy_from(&mut self, other: &Partition) {
        self.order.clone_from(&other.order);
        self.colour.clone_from(&other.colour);
        self.length.clone_from(&other.length);
        self.cells = other.cells;
    }

    /// Whether every cell has one element.
    #[inline]
    pub fn is_discrete(&self) -> bool {
        self.cells == self.order.len()
    }

    /// Whether the partition is discrete and leaves every element where it is.
    #[inline]
    pub fn is_identity(&self) -> bool {
        self.colour.iter().enumerate().all(|(element, &place)| element == usize::from(place))
    }

    /// The colour of every element.
    #[inline]
    pub fn colours(&self) -> &[u16] {
        &self.colour
    }

    /// The elements of the cell that starts at `start`.
    #[inline]
    pub fn cell(&self, start: usize) -> &[u16] {
        &self.order[start..start + usize::from(self.length[start])]
    }

    /// The start of the first cell at or after `start` with more than one element, before `end`.
    #[inline]
    pub fn open_cell(&self, mut start: usize, end: usize) -> Option<usize> {
        while start < end {
            if self.length[start] > 1 {
                return Some(start);
            }
            start += 1;
        }
        None
    }

    /// Puts the element in front of the others of its cell, in a cell of its own.
    pub fn individualise(&mut self, element: u16) {
        let start = usize::from(self.colour[usize::from(element)]);
        let length = self.length[start];
        if length == 1 {
            return;
        }
        let end = start + usize::from(length);
        // An element stands in the cell of its colour.
        let at = (start..end).find(|&n| self.order[n] == element).unwrap_or(start);
        self.order.swap(start, at);
        self.length[start] = 1;
        self.length[start + 1] = length - 1;
        for n in start + 1..end {
            self.colour[usize::from(self.order[n])] = start as u16 + 1;
        }
        self.cells += 1;
    }

    /// Splits the cell into single elements as they stand.
    pub fn scatter(&mut self, start: usize) {
        let length = usize::from(self.length[start]);
        for n in start..start + length {
            self.length[n] = 1;
            self.colour[usize::from(self.order[n])] = n as u16;
        }
        self.cells += length - 1;
    }

    /// Splits every cell within positions `start..end` by key, ascending. Says whether anything was split.
    pub fn split(
        &mut self,
        start: usize,
        end: usize,
        buffer: &mut KeyBuffer,
        key: impl Fn(u16) -> u64,
    ) -> bool {
        let before = self.cells;
        let mut at = start;
        while let Some(cell) = self.open_cell(at, end) {
            at = cell + usize::from(self.length[cell]);
            buffer.clear();
            buffer.extend(self.order[cell..at].iter().map(|&element| (key(element), element)));
            if buffer.iter().all(|&(key, _)| key == buffer[0].0) {
                continue;
            }
            sort_by_key(buffer);
            let mut first = cell;
            for (n, &(key, element)) in buffer.iter().enumerate() {
                if n > 0 && key != buffer[n - 1].0 {
                    self.length[first] = (cell + n - first) as u16;
                    first = cell + n;
                    self.cells += 1;
                }
                self.order[cell + n] = element;
                self.colour[usize::from(element)] = first as u16;
            }
            self.length[first] = (at - first) as u16;
        }
        self.cells != before
    }
}

/// Sorts by key; cells are usually a handful of elements.
#[inline]
fn sort_by_key(keys: &mut [(u64, u16)]) {
    if keys.len() > 24 {
        keys.sort_unstable();
        return;
    }
    for n in 1..keys.len() {
        let moving = keys[n];
        let mut at = n;
        while at > 0 && keys[at - 1].0 > moving.0 {
            keys[at] = keys[at - 1];
            at -= 1;
        }
        keys[at] = moving;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_orders_cells_by_key_and_colours_by_start() {
        let mut partition = Partition::unit([(0, 4), (4, 2)].into_iter());
        let keys = [7, 3, 7, 1, 0, 0];
        assert!(partition.split(0, 6, &mut Vec::new(), |e| keys[usize::from(e)]));
        assert_eq!(partition.colours(), &[2, 1, 2, 0, 4, 4]);
        assert_eq!(partition.cell(2), &[0, 2]);
        partition.individualise(2);
        assert_eq!(partition.colours(), &[3, 1, 2, 0, 4, 4]);
        assert_eq!(partition.open_cell(0, 6), Some(4));
        partition.scatter(4);
        assert!(partition.is_discrete());
    }
}
