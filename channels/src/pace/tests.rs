//! The platforms' documented limits, on paused time: exact.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::{Limit, Pace, Rate, SWEEP_MIN};
use crate::{ConversationId, Kind};

const SECOND: Duration = Duration::from_secs(1);

/// A documented limit.
const fn limit(most: usize, within: Duration) -> Limit {
    Limit { most, within }
}

const DISCORD_OVERALL: Limit = limit(50, SECOND);
const DISCORD_CHANNEL: Limit = limit(5, Duration::from_secs(5));
const TELEGRAM_OVERALL: Limit = limit(30, SECOND);
const TELEGRAM_PRIVATE: Limit = limit(1, SECOND);
const TELEGRAM_GROUP: Limit = limit(20, Duration::from_secs(60));

fn rate(limit: Limit, burst: u32) -> Rate {
    Rate::within(limit.most as u32, limit.within, burst)
}

fn discord() -> Pace {
    Pace::new(DISCORD_OVERALL, |_| rate(DISCORD_CHANNEL, 3))
}

fn telegram() -> Pace {
    Pace::new(TELEGRAM_OVERALL, |conversation| match conversation.local().starts_with('-') {
        true => rate(TELEGRAM_GROUP, 5),
        false => rate(TELEGRAM_PRIVATE, 1),
    })
}

fn room(kind: Kind, n: i64) -> ConversationId {
    ConversationId::new(kind, n)
}

/// Starts `each` sends to every conversation at once; when each went, in order, from the start.
async fn run(pace: Pace, conversations: &[ConversationId], each: usize) -> Vec<(Duration, ConversationId)> {
    let (pace, went, start) = (Arc::new(pace), Arc::new(Mutex::new(Vec::new())), Instant::now());
    let mut sends = JoinSet::new();
    for _ in 0..each {
        for conversation in conversations.iter().cloned() {
            let (pace, went) = (Arc::clone(&pace), Arc::clone(&went));
            sends.spawn(async move {
                pace.ready(&conversation).await;
                went.lock().unwrap().push((start.elapsed(), conversation));
            });
        }
    }
    while sends.join_next().await.transpose().unwrap().is_some() {}
    Arc::into_inner(went).unwrap().into_inner().unwrap()
}

/// Fails if any half-open window of the limit's length holds more than the limit.
fn assert_kept(times: &[Duration], Limit { most, within }: Limit) {
    for pair in times.windows(most + 1) {
        assert!(pair[most] - pair[0] >= within, "{} within {:?}", most + 1, pair[most] - pair[0]);
    }
}

fn times(went: &[(Duration, ConversationId)]) -> Vec<Duration> {
    went.iter().map(|(at, _)| *at).collect()
}

fn by_conversation(went: &[(Duration, ConversationId)]) -> BTreeMap<ConversationId, Vec<Duration>> {
    let mut by = BTreeMap::<_, Vec<_>>::new();
    for (at, conversation) in went {
        by.entry(conversation.clone()).or_default().push(*at);
    }
    by
}

#[tokio::test(start_paused = true)]
async fn a_thousand_discord_replies_keep_every_limit_and_take_the_time_they_must() {
    let rooms: Vec<_> = (0..200).map(|n| room(Kind::Discord, n)).collect();
    let went = run(discord(), &rooms, 5).await;
    assert_eq!(went.len(), 1000);
    assert_kept(&times(&went), DISCORD_OVERALL);
    for times in by_conversation(&went).values() {
        assert_eq!(times.len(), 5);
        assert_kept(times, DISCORD_CHANNEL);
    }
    let (took, optimum) = (went[999].0.as_secs_f64(), 1000.0 / 50.0);
    assert!(took <= optimum, "{took} s");
}

#[tokio::test(start_paused = true)]
async fn a_thousand_telegram_replies_keep_every_limit_and_take_the_time_they_must() {
    let chats: Vec<_> = (0..200).map(|n| room(Kind::Telegram, if n % 2 == 0 { n + 1 } else { -n })).collect();
    let went = run(telegram(), &chats, 5).await;
    assert_eq!(went.len(), 1000);
    assert_kept(&times(&went), TELEGRAM_OVERALL);
    for (chat, times) in by_conversation(&went) {
        assert_kept(&times, if chat.local().starts_with('-') { TELEGRAM_GROUP } else { TELEGRAM_PRIVATE });
    }
    let (took, optimum) = (went[999].0.as_secs_f64(), 1000.0 / 30.0);
    assert!(took <= optimum, "{took} s");
}

#[tokio::test(start_paused = true)]
async fn one_busy_conversation_keeps_its_own_limit_for_a_long_time() {
    for (pace, conversation, limit) in [
        (discord(), room(Kind::Discord, 1), DISCORD_CHANNEL),
        (telegram(), room(Kind::Telegram, 1), TELEGRAM_PRIVATE),
        (telegram(), room(Kind::Telegram, -1), TELEGRAM_GROUP),
    ] {
        let went = run(pace, &[conversation], 100).await;
        assert_kept(&times(&went), limit);
        let (took, floor) = (went[99].0.as_secs_f64(), 99.0 * limit.within.as_secs_f64() / limit.most as f64);
        assert!(took <= floor * 1.7, "a burst costs at most that much steady rate: {took} s for {floor} s");
    }
}

#[tokio::test(start_paused = true)]
async fn time_spent_waiting_for_the_bot_does_not_let_a_conversation_exceed_its_rate() {
    // One slow bot, so that everybody queues there: a conversation's second request must still keep its distance
    // from the first one's departure, not from its arrival in the queue.
    let pace = Pace::new(limit(1, SECOND / 2), |_| Rate { burst: 1, every: SECOND * 3 });
    let rooms: Vec<_> = (0..4).map(|n| room(Kind::Discord, n)).collect();
    let went = run(pace, &rooms, 4).await;
    for times in by_conversation(&went).values() {
        assert_kept(times, limit(1, SECOND * 3));
    }
}

#[tokio::test(start_paused = true)]
async fn a_frozen_conversation_delays_no_other() {
    let pace = Arc::new(discord());
    let (frozen, free) = (room(Kind::Discord, 1), room(Kind::Discord, 2));
    pace.freeze(Some(&frozen), SECOND * 60);
    let start = Instant::now();
    let held = tokio::spawn({
        let (pace, frozen) = (Arc::clone(&pace), frozen.clone());
        async move { pace.ready(&frozen).await }
    });
    tokio::task::yield_now().await;
    pace.ready(&free).await;
    assert_eq!(start.elapsed(), Duration::ZERO);
    held.await.unwrap();
    assert_eq!(start.elapsed(), SECOND * 60);
}

#[tokio::test(start_paused = true)]
async fn a_freeze_reaches_those_who_wait_already() {
    let pace = Arc::new(Pace::new(limit(1, SECOND), |_| Rate { burst: 9, every: SECOND }));
    let (frozen, free) = (room(Kind::Discord, 1), room(Kind::Discord, 2));
    let start = Instant::now();
    pace.ready(&free).await;
    let mut sends = JoinSet::new();
    for conversation in [&frozen, &free] {
        let (pace, conversation) = (Arc::clone(&pace), conversation.clone());
        sends.spawn(async move {
            pace.ready(&conversation).await;
            (conversation, start.elapsed())
        });
        tokio::task::yield_now().await;
    }
    // The first of the two is at the head of the bot's queue when its conversation is frozen.
    pace.freeze(Some(&frozen), SECOND * 10);
    assert_eq!(sends.join_next().await.unwrap().unwrap(), (free, SECOND));
    assert_eq!(sends.join_next().await.unwrap().unwrap(), (frozen, SECOND * 10));
}

#[tokio::test(start_paused = true)]
async fn freezing_everything_holds_everybody_and_a_shorter_freeze_does_not_shorten_it() {
    let (pace, start) = (discord(), Instant::now());
    pace.freeze(None, SECOND * 5);
    pace.freeze(None, SECOND);
    pace.ready(&room(Kind::Discord, 1)).await;
    assert_eq!(start.elapsed(), SECOND * 5);
    pace.freeze(Some(&room(Kind::Discord, 1)), Duration::MAX);
    assert!(timeout(SECOND * 3600, pace.ready(&room(Kind::Discord, 1))).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn requests_of_one_conversation_go_in_the_order_in_which_they_asked() {
    let (pace, order) = (Arc::new(telegram()), Arc::new(Mutex::new(Vec::new())));
    let mut sends = JoinSet::new();
    for n in 0..50 {
        let (pace, order) = (Arc::clone(&pace), Arc::clone(&order));
        sends.spawn(async move {
            pace.ready(&room(Kind::Telegram, 7)).await;
            order.lock().unwrap().push(n);
        });
        tokio::task::yield_now().await;
    }
    while sends.join_next().await.is_some() {}
    assert_eq!(*order.lock().unwrap(), (0..50).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_wait_leaves_no_trace() {
    let (pace, chat, start) = (telegram(), room(Kind::Telegram, 1), Instant::now());
    pace.ready(&chat).await;
    for _ in 0..5 {
        assert!(timeout(SECOND / 10, pace.ready(&chat)).await.is_err());
    }
    assert!(!pace.idle(&chat), "its second is not over yet");
    pace.ready(&chat).await;
    assert_eq!(start.elapsed(), SECOND, "five cancelled waits cost nothing");
}

#[tokio::test(start_paused = true)]
async fn idle_means_that_a_request_would_go_at_once() {
    let (pace, chat, other) = (telegram(), room(Kind::Telegram, 1), room(Kind::Telegram, 2));
    assert!(pace.idle(&chat));
    pace.ready(&chat).await;
    assert!(!pace.idle(&chat));
    assert!(pace.idle(&other));
    tokio::time::advance(SECOND).await;
    assert!(pace.idle(&chat));
    pace.freeze(Some(&chat), SECOND);
    assert!(!pace.idle(&chat) && pace.idle(&other));
    pace.freeze(None, SECOND);
    assert!(!pace.idle(&other));
}

#[tokio::test(start_paused = true)]
async fn conversations_at_rest_are_forgotten_and_the_others_are_not() {
    let pace = Pace::new(limit(10_000, SECOND), |_| rate(DISCORD_CHANNEL, 3));
    let frozen = room(Kind::Discord, -1);
    pace.freeze(Some(&frozen), SECOND * 100_000);
    for n in 0..10_000 {
        pace.ready(&room(Kind::Discord, n)).await;
        tokio::time::advance(SECOND).await;
    }
    assert!(pace.lanes().by_conversation.len() <= SWEEP_MIN * 2, "{}", pace.lanes().by_conversation.len());
    assert!(!pace.idle(&frozen));
}

#[test]
fn a_rate_of_nothing_still_lets_one_through() {
    for rate in [Rate { burst: 0, every: Duration::ZERO }, Rate { burst: u32::MAX, every: Duration::MAX }] {
        let bucket = super::Bucket::new(rate);
        assert!(bucket.is_full() && bucket.take());
    }
    assert_eq!(Rate::within(0, SECOND, 0), Rate { burst: 1, every: SECOND });
    assert_eq!(Rate::within(5, SECOND * 5, 9), Rate { burst: 5, every: SECOND * 5 });
    assert_eq!(Rate::within(5, SECOND * 5, 1), Rate { burst: 1, every: SECOND });
}
