//! Every variable of the environment that the hive reads: one table for the reader, `.env.example` and the manual.

/// One variable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// What holds where it is not set; empty where nothing does.
    pub default: &'static str,
    /// A value as it might be set.
    pub example: &'static str,
    /// What it is for, in one or two sentences.
    pub about: &'static str,
}

/// The variables, in the order in which they are shown.
pub const VARIABLES: &[Variable] = &[
    Variable {
        name: "DISCORD_TOKEN",
        default: "",
        example: "the-token-of-your-discord-bot",
        about: "The bot token from Discord's developer portal. Without one the hive does not go to Discord.",
    },
    Variable {
        name: "TELEGRAM_TOKEN",
        default: "",
        example: "123456789:the-token-from-BotFather",
        about: "The bot token from @BotFather. Without one the hive does not go to Telegram.",
    },
    Variable {
        name: "HIVE_ADMINS",
        default: "",
        example: "discord:123456789012345678,telegram:123456789",
        about: "Who is an admin from the start, by platform and user id, with commas between them.",
    },
    Variable {
        name: "ANTHROPIC_API_KEY",
        default: "",
        example: "the-key-from-console.anthropic.com",
        about: "The key for models of Anthropic. Without providers.yaml it makes the profile `anthropic`.",
    },
    Variable {
        name: "OPENAI_API_KEY",
        default: "",
        example: "the-key-from-platform.openai.com",
        about: "The key for models of OpenAI, or of a server that speaks its Chat Completions protocol. \
                Without providers.yaml it makes the profile `openai`.",
    },
    Variable {
        name: "HIVE_MODEL",
        default: "",
        example: "anthropic:claude-sonnet-5-5",
        about: "The model that answers, as `profile:model` or `profile`. It wins over `default` in providers.yaml.",
    },
    Variable {
        name: "HIVE_DATA_DIR",
        default: "data",
        example: "data",
        about: "The directory of what you write: config.yaml, channels.yaml, providers.yaml, rules/*.md.",
    },
    Variable {
        name: "HIVE_RUN_DIR",
        default: ".run",
        example: ".run",
        about: "The directory of what the hive writes: its database and the workspaces of its teams.",
    },
    Variable {
        name: "HIVE_VAULT_KEY",
        default: "",
        example: "8f1e0c5ab27d4936e1f07a5c2b9d8e4f6a3c1d0b7e5f9a2846c3d1e0f7b5a982",
        about: "The key that encrypts the vault: 64 hexadecimal digits, as `openssl rand -hex 32` prints them; or \
                `keyring`: it is in the kernel's keyring of this user or session, under `openhive-vault`. Without it \
                the hive makes a key file in the run directory.",
    },
    Variable {
        name: "HIVE_LOG",
        default: "",
        example: "info",
        about: "How much is logged: off, error, warn, info, debug, trace, or directives such as \
                `info,openhive=debug`. It wins over `log_level` in config.yaml.",
    },
    Variable {
        name: "HIVE_LOG_FORMAT",
        default: "",
        example: "human",
        about: "How the log looks: human or json. It wins over `log_format` in config.yaml.",
    },
    Variable {
        name: "DISCORD_API_URL",
        default: "",
        example: "http://127.0.0.1:8081",
        about: "Another server that speaks Discord's REST protocol, such as a proxy. The gateway is whatever it names.",
    },
    Variable {
        name: "TELEGRAM_API_URL",
        default: "",
        example: "http://127.0.0.1:8082",
        about: "Another server that speaks Telegram's Bot API, such as one of your own.",
    },
    Variable {
        name: "ANTHROPIC_API_URL",
        default: "",
        example: "http://127.0.0.1:8083",
        about: "Another server that speaks Anthropic's Messages protocol, for profiles without `api_url`.",
    },
    Variable {
        name: "OPENAI_API_URL",
        default: "",
        example: "http://127.0.0.1:8084/v1",
        about: "Another server that speaks OpenAI's Chat Completions protocol, for profiles without `api_url`.",
    },
];

/// The text of `.env.example`: every variable with what it is for, switched off.
pub fn env_example() -> String {
    let mut text = "# Copy this file to `.env` and take the `#` off the lines that you need. Everything may be left out.\n\
                    # Variables of the process win over this file. Put values with `$`, `#` or blanks in single quotes.\n"
        .to_owned();
    for variable in VARIABLES {
        text.push_str(&format!("\n# {}\n", variable.about));
        if !variable.default.is_empty() {
            text.push_str(&format!("# Default: {}\n", variable.default));
        }
        text.push_str(&format!("#{}={}\n", variable.name, variable.example));
    }
    text
}
