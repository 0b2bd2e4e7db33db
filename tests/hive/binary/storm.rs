//! People talk while the process is killed again and again.

use std::time::Duration;

use fakes::storm::{self, Plan};

use super::{Named, real};

pub(super) const ALL: &[Named] =
    &[("over_kills_at_random_moments_nothing_is_lost_and_nothing_doubled_without_a_word", || real(storm()))];

async fn storm() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plan = Plan {
        program: env!("CARGO_BIN_EXE_hive").into(),
        folder: folder.path().to_owned(),
        messages: 60,
        conversations: 5,
        kills: 6,
        between_kills: (Duration::from_millis(100), Duration::from_millis(2_500)),
        one_slow_in: 6,
        seed: 7,
        patience: Duration::from_secs(60),
    };
    let report = storm::run(&plan).await;
    println!("{report}");
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.messages, report.kills), (60, 6));
}
