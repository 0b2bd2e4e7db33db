//! Finding the gateway, and what it means when it does not let us in.

use std::time::Duration;

use serde_json::Value;
use serenity::gateway::GatewayError;
use serenity::http::{LightMethod, Route};

use super::Discord;
use super::errors::{Fault, TOKEN};
use super::rest::Call;
use crate::{Intake, Kind, ReceiveError, Report};

/// Between attempts to reach Discord: at first, and at most.
const PATIENCE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// Where the gateway is: what this API says, and never an address of our own.
pub(super) async fn gateway_url(discord: &Discord, intake: &dyn Intake) -> Result<String, ReceiveError> {
    let (mut patience, most) = PATIENCE;
    let mut told = false;
    loop {
        let mut answer = discord.rest.call(Call::new(LightMethod::Get, Route::GatewayBot)).await;
        if matches!(&answer, Err(Fault::Answer(answer)) if answer.status == 404) {
            answer = discord.rest.call(Call::new(LightMethod::Get, Route::Gateway)).await;
        }
        let fault = match answer {
            Ok(gateway) => return usable_url(&gateway),
            Err(fault) => fault,
        };
        let Some(wait) = fault.passing() else {
            return Err(match fault.into_receive_error() {
                ReceiveError::Unreachable(why) => ReceiveError::Forbidden(why),
                other => other,
            });
        };
        if !std::mem::replace(&mut told, true) {
            let why = fault.into_receive_error().to_string();
            intake.report(Kind::Discord, Report::Disconnected { why });
        }
        tokio::time::sleep(wait.max(patience)).await;
        patience = (patience * 2).min(most);
    }
}

fn usable_url(gateway: &Value) -> Result<String, ReceiveError> {
    let url = gateway["url"].as_str().unwrap_or_default();
    if !url.starts_with("ws://") && !url.starts_with("wss://") {
        return Err(ReceiveError::Forbidden(
            "the API names no gateway (ws:// or wss://): check DISCORD_API_URL".into(),
        ));
    }
    // serenity adds the version as the query.
    Ok(url.split('?').next().unwrap_or(url).to_owned())
}

/// Why the gateway will never let us in, in words for whoever set the bot up.
pub(super) fn refused(fault: &GatewayError) -> ReceiveError {
    match fault {
        GatewayError::DisallowedGatewayIntents => ReceiveError::Forbidden(
            "Discord does not let the bot read messages: switch on \"Message Content Intent\" on the Bot page of the \
             application at https://discord.com/developers/applications"
                .to_owned(),
        ),
        GatewayError::InvalidAuthentication | GatewayError::NoAuthentication => {
            ReceiveError::Unauthorized(Kind::Discord, TOKEN)
        }
        other => ReceiveError::Forbidden(format!("Discord's gateway refuses the bot: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_websocket_address_is_a_gateway() {
        let url = |url: &str| usable_url(&serde_json::json!({ "url": url }));
        assert_eq!(url("wss://gateway.discord.gg"), Ok("wss://gateway.discord.gg".to_owned()));
        assert_eq!(url("ws://127.0.0.1:1/ws?v=9"), Ok("ws://127.0.0.1:1/ws".to_owned()));
        for bad in ["", "http://127.0.0.1", "gateway.discord.gg"] {
            assert!(matches!(url(bad), Err(ReceiveError::Forbidden(_))), "{bad:?}");
        }
    }
}
