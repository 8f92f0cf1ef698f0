//! Racetrack (Barto, Bradtke, Singh 1995): a car on a grid whose accelerations sometimes fail.
//!
//! A state is a cell and a velocity. With probability `p` the acceleration is applied, else the velocity stays. The car then
//! moves along a straight line: row by row, the column rounded half up (column by column where the row does not change).
//! Entering a goal ends there; a wall stops the car in the last free cell. The first action, from a state of its own, picks
//! one of the starting cells.

use super::{Actions, Task};

/// A track, and how likely accelerations work.
#[derive(Clone, Debug)]
pub struct Racetrack {
    rows: i32,
    columns: i32,
    cells: Vec<u8>,
    starts: Vec<(i32, i32)>,
    works: f64,
}

/// Why a text is no track.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TrackError {
    /// The first line is missing.
    #[error("the first line says `dim: ROWS COLUMNS`")]
    Dimensions,
    /// A line has the wrong length, or there are too few.
    #[error("row {0} is missing or has not {1} cells")]
    Row(usize, usize),
    /// A cell is something else.
    #[error("row {0} has a cell other than `s`, `g`, `.` and `x`")]
    Cell(usize),
    /// Nowhere to start.
    #[error("no cell is a start")]
    NoStart,
}

impl Racetrack {
    /// Reads a track: `dim: rows columns`, then rows of `s` (start), `g` (goal), `.` (free), `x` (wall).
    pub fn parse(text: &str, works: f64) -> Result<Self, TrackError> {
        let mut lines = text.lines().map(str::trim).filter(|l| !l.is_empty());
        let head = lines.next().and_then(|l| l.strip_prefix("dim:")).ok_or(TrackError::Dimensions)?;
        let mut sizes = head.split_whitespace().map(str::parse::<i32>);
        let (Some(Ok(rows)), Some(Ok(columns))) = (sizes.next(), sizes.next()) else {
            return Err(TrackError::Dimensions);
        };
        if !(1..1 << 15).contains(&rows) || !(1..1 << 15).contains(&columns) {
            return Err(TrackError::Dimensions);
        }
        let mut cells = Vec::new();
        let mut starts = Vec::new();
        for row in 0..rows {
            let line: Vec<u8> =
                lines.next().unwrap_or("").bytes().filter(|b| !b.is_ascii_whitespace()).collect();
            if line.len() != columns as usize {
                return Err(TrackError::Row(row as usize, columns as usize));
            }
            if line.iter().any(|c| !b"sg.xSGX".contains(c)) {
                return Err(TrackError::Cell(row as usize));
            }
            let found = line.iter().enumerate().filter(|(_, c)| c.eq_ignore_ascii_case(&b's'));
            starts.extend(found.map(|(column, _)| (row, column as i32)));
            cells.extend(line.iter().map(u8::to_ascii_lowercase));
        }
        if starts.is_empty() {
            return Err(TrackError::NoStart);
        }
        Ok(Racetrack { rows, columns, cells, starts, works })
    }

    /// A free rectangle whose first three cells of the first row are starts and last three of the last row goals.
    pub fn open_field(rows: i32, columns: i32, works: f64) -> Result<Self, TrackError> {
        let mut text = format!("dim: {rows} {columns}\n");
        for row in 0..rows {
            for column in 0..columns {
                text.push(match (row, column) {
                    (0, 0..3) => 's',
                    _ if row == rows - 1 && column >= columns - 3 => 'g',
                    _ => '.',
                });
            }
            text.push('\n');
        }
        Self::parse(&text, works)
    }

    fn cell(&self, row: i32, column: i32) -> u8 {
        if row < 0 || column < 0 || row >= self.rows || column >= self.columns {
            return b'x';
        }
        self.cells[(row * self.columns + column) as usize]
    }

    /// Where the car is after moving by this velocity.
    fn moved(&self, row: i32, column: i32, down: i32, right: i32) -> u64 {
        let steps = if down == 0 { right.abs() } else { down.abs() };
        let (mut at_row, mut at_column) = (row, column);
        for step in 1..=steps {
            let (next_row, next_column) = if down == 0 {
                (row, column + step * right.signum())
            } else {
                let rounded = (2 * step * right + steps).div_euclid(2 * steps);
                (row + step * down.signum(), column + rounded)
            };
            match self.cell(next_row, next_column) {
                b'x' => return pack(at_row, at_column, 0, 0),
                b'g' => return pack(next_row, next_column, 0, 0),
                _ => (at_row, at_column) = (next_row, next_column),
            }
        }
        pack(at_row, at_column, down, right)
    }
}

/// The state before a starting cell is picked.
const BEFORE: u64 = 0;

fn pack(row: i32, column: i32, down: i32, right: i32) -> u64 {
    1 << 48 | (row as u64) << 32 | (column as u64) << 16 | ((down + 128) as u64) << 8 | (right + 128) as u64
}

impl Task for Racetrack {
    fn initial(&self) -> u64 {
        BEFORE
    }

    fn terminal(&self, state: u64) -> Option<f64> {
        let (row, column) = ((state >> 32 & 0xFFFF) as i32, (state >> 16 & 0xFFFF) as i32);
        (state != BEFORE && self.cell(row, column) == b'g').then_some(0.0)
    }

    fn actions(&self, state: u64, out: &mut Actions) {
        if state == BEFORE {
            let each = 1.0 / self.starts.len() as f64;
            let starts: Vec<(u64, f64)> =
                self.starts.iter().map(|&(r, c)| (pack(r, c, 0, 0), each)).collect();
            out.push(1.0, &starts);
            return;
        }
        let (row, column) = ((state >> 32 & 0xFFFF) as i32, (state >> 16 & 0xFFFF) as i32);
        let (down, right) = ((state >> 8 & 0xFF) as i32 - 128, (state & 0xFF) as i32 - 128);
        let slips = self.moved(row, column, down, right);
        for more_down in -1..=1 {
            for more_right in -1..=1 {
                let works = self.moved(row, column, down + more_down, right + more_right);
                out.push(1.0, &[(works, self.works), (slips, 1.0 - self.works)]);
            }
        }
    }
}
