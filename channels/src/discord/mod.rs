//! Discord, through serenity.
