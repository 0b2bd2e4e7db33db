//! Numbers from several measurements: their middle and how far they lie apart.

use serde::{Deserialize, Serialize};

/// The median of several measurements, the lowest and the highest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The one in the middle, or between the two in the middle.
    pub median: f64,
    /// The lowest.
    pub low: f64,
    /// The highest.
    pub high: f64,
}

impl Spread {
    /// Of these measurements.
    ///
    /// # Panics
    /// Where there are none: nothing was measured.
    pub fn of(measured: &[f64]) -> Spread {
        let sorted = sorted(measured);
        let (Some(low), Some(high)) = (sorted.first(), sorted.last()) else { panic!("nothing was measured") };
        Spread { median: quantile(&sorted, 0.5), low: *low, high: *high }
    }

    /// Of the quotients of pairs.
    pub fn of_ratios(ours: &[f64], floor: &[f64]) -> Spread {
        let ratios: Vec<f64> = ours.iter().zip(floor).map(|(ours, floor)| ours / floor).collect();
        Spread::of(&ratios)
    }
}

/// The median.
///
/// # Panics
/// Where nothing was measured.
pub fn median(measured: &[f64]) -> f64 {
    Spread::of(measured).median
}

/// The value below which `share` (0 to 1) of the measurements lie.
///
/// # Panics
/// Where nothing was measured.
pub fn percentile(measured: &[f64], share: f64) -> f64 {
    let sorted = sorted(measured);
    assert!(!sorted.is_empty(), "nothing was measured");
    quantile(&sorted, share)
}

fn sorted(measured: &[f64]) -> Vec<f64> {
    let mut sorted = measured.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// Between two measurements the line between them.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (below, above) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    below + (above - below) * place.fract()
}
