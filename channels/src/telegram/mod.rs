//! Telegram, through teloxide.
