//! Faults in `channels.yaml`.

use super::super::file;
use super::check;

#[test]
fn places_and_answers_in_channels_yaml() {
    check(
        "channels.yaml",
        &[
            ("discrod:\n  answer: always", &["discrod: is no key; did you mean `discord`? (line 1)"]),
            (
                "discord:\n  answer: mention",
                &[
                    "discord.answer: found `mention`, expected `always`, `mentioned` or `never`; did you mean `mentioned`? (line 2)",
                ],
            ),
            (
                "discord:\n  rooms:\n    general: always",
                &["discord.rooms.general: the key: found `general`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 3)"],
            ),
            (
                "discord:\n  rooms:\n    123: allways",
                &[
                    "discord.rooms.123: found `allways`, expected `always`, `mentioned` or `never`; did you mean `always`? (line 3)",
                ],
            ),
            (
                "discord:\n  rooms:\n    123: always\n    discord:123: never",
                &[
                    "discord.rooms.\"discord:123\": names the same place as an earlier key: keep one of the two (line 4)",
                ],
            ),
            (
                "discord:\n  watched_channels: [1, 1.5e18, 0123, telegram:5]",
                &[
                    "discord.watched_channels[1]: found `1.5e18`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 2)",
                    "discord.watched_channels[2]: found `0123`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 2)",
                    "discord.watched_channels[3]: found `telegram:5`, expected a Discord channel id: digits such as \
             `123456789012345678` (line 2)",
                ],
            ),
            (
                "telegram:\n  rooms:\n    -100/0: always",
                &[
                    "telegram.rooms.-100/0: the key: found `-100/0`, expected a Telegram chat id such as `-1001234567890`, \
             or `-1001234567890/7` for a forum topic (line 3)",
                ],
            ),
            (
                "telegram:\n  watched_channels: [1]",
                &["telegram.watched_channels: is no key; known here: `token`, `answer` and `rooms` (line 2)"],
            ),
        ],
    );
}

#[test]
fn who_may_speak() {
    check(
        "channels.yaml",
        &[
            (
                "trust:\n  default_policy: alow",
                &["trust.default_policy: found `alow`, expected `allow` or `deny`; did you mean `allow`? (line 2)"],
            ),
            (
                "trust:\n  channels:\n    telegramm:\n      policy: deny",
                &["trust.channels.telegramm: is no key; did you mean `telegram`? (line 3)"],
            ),
            (
                "trust:\n  channels:\n    cli:\n      policy: deny",
                &["trust.channels.cli: is no key; known here: `discord`, `telegram`, `console` and `web` (line 3)"],
            ),
            (
                "trust:\n  channels:\n    discord:\n      policy: maybe\n      polcy: deny\n",
                &[
                    "trust.channels.discord.policy: found `maybe`, expected `allow` or `deny` (line 4)",
                    "trust.channels.discord.polcy: is no key; did you mean `policy`? (line 5)",
                ],
            ),
            (
                "trust:\n  channels:\n    discord:\n      sender_allowlist: [1, 2]\n      sender_denylist: [2]\n",
                &[
                    "trust.channels.discord.sender_denylist: `2` is in `sender_allowlist` as well: keep one of the two (line 5)",
                ],
            ),
            (
                "trust:\n  channels:\n    discord:\n      sender_allowlist: 1\n",
                &[
                    "trust.channels.discord.sender_allowlist: found a single value, expected a list such as `[a, b]` (line 4)",
                ],
            ),
            (
                "trust:\n  channels:\n    discord:\n      sender_allowlist: [alice#1234]\n",
                &[
                    "trust.channels.discord.sender_allowlist[0]: found `alice#1234`, expected a Discord user id: digits such as \
             `123456789012345678` (line 4)",
                ],
            ),
            (
                "trust:\n  channels:\n    telegram:\n      channel_overrides:\n        -5: {}\n        x: {policy: allow}\n",
                &[
                    "trust.channels.telegram.channel_overrides.-5.policy: is missing, expected `allow` or `deny` (line 5)",
                    "trust.channels.telegram.channel_overrides.x: the key: found `x`, expected a Telegram chat id such as \
             `-1001234567890`, or `-1001234567890/7` for a forum topic (line 6)",
                ],
            ),
            (
                "trust:\n  channels:\n    telegram:\n      channel_overrides:\n        -5: allow\n",
                &[
                    "trust.channels.telegram.channel_overrides.-5: found a single value, expected a mapping (`key: value`) (line 5)",
                ],
            ),
        ],
    );
    let denied = file("channels.yaml", "trust:\n  channels:\n    telegram:\n      sender_denylist: [telegram:7]\n");
    assert_eq!(
        denied.variable("HIVE_ADMINS", "discord:7,telegram:7").faults(),
        [
            "channels.yaml: trust.channels.telegram.sender_denylist: `7` is one of HIVE_ADMINS: keep one of the two (line 4)"
        ]
    );
}
