//! Secrets that look like any other number or word, and are known by the product that their name tells.
//!
//! Each row: the name of what it is; the product's words, as a pattern; forms of the values, as patterns. The name of the
//! value holds a word, an assignment follows, and then the value: `DATADOG_API_KEY = "…"`, `"kucoin-secret": "…"`.

/// `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx`.
const UUID: &str = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}";

/// A product and its values.
pub(super) struct Product {
    pub name: &'static str,
    /// Texts of which one must be there, in lower case.
    pub words: &'static [&'static str],
    pub values: &'static [&'static str],
}

const fn product(name: &'static str, words: &'static [&'static str], values: &'static [&'static str]) -> Product {
    Product { name, words, values }
}

/// All of them, by name.
pub(super) const PRODUCTS: &[Product] = &[
    product("adafruit-api-key", &["adafruit"], &["[a-z0-9_-]{32}"]),
    product("adobe-client-id", &["adobe"], &["[a-f0-9]{32}"]),
    product("airtable-api-key", &["airtable"], &["[a-z0-9]{17}"]),
    product("algolia-api-key", &["algolia"], &["[a-z0-9]{32}"]),
    product("alibaba-secret-key", &["alibaba", "aliyun"], &["[a-z0-9]{30}"]),
    product("asana-client", &["asana"], &["[0-9]{16}", "[a-z0-9]{32}"]),
    product("atlassian-api-token", &["atlassian", "confluence", "jira"], &["[a-z0-9]{20}[a-f0-9]{4}"]),
    product("aws-secret-key", &["aws", "amazon"], &["[a-z0-9/+]{40}"]),
    product("azure-key", &["azure", "accountkey"], &["[a-z0-9+/]{86}==", "[a-z0-9+/]{43}="]),
    product("beamer-api-token", &["beamer"], &["b_[a-z0-9=_-]{44}"]),
    product("bitbucket-client", &["bitbucket"], &["[a-z0-9]{32}", "[a-z0-9=_-]{64}"]),
    product("bittrex-key", &["bittrex"], &["[a-z0-9]{32}"]),
    product("cisco-meraki-api-key", &["meraki"], &["[0-9a-f]{40}"]),
    product("cloudflare-api-key", &["cloudflare"], &["[a-z0-9_-]{40}", "[a-f0-9]{37}"]),
    product("codecov-access-token", &["codecov"], &["[a-z0-9]{32}", UUID]),
    product("cohere-api-token", &["cohere", "co_api_key"], &["[a-z0-9]{40}"]),
    product("coinbase-access-token", &["coinbase"], &["[a-z0-9_-]{64}"]),
    product("confluent-key", &["confluent"], &["[a-z0-9]{16}", "[a-z0-9]{64}"]),
    product("contentful-delivery-api-token", &["contentful"], &["[a-z0-9=_-]{43}"]),
    product("datadog-access-token", &["datadog"], &["[a-z0-9]{40}", "[a-f0-9]{32}"]),
    product("discord-client", &["discord"], &["[a-f0-9]{64}", "[a-z0-9=_-]{32}", "[0-9]{18}"]),
    product("droneci-access-token", &["droneci"], &["[a-z0-9]{32}"]),
    product(
        "dropbox-api-token",
        &["dropbox"],
        &["[a-z0-9]{15}", "[a-z0-9]{11}AAAAAAAAAA[a-z0-9_=-]{43}", r"sl\.[a-z0-9=_-]{135}"],
    ),
    product("etsy-access-token", &["etsy"], &["[a-z0-9]{24}"]),
    product("facebook-secret", &["facebook"], &["[a-f0-9]{32}"]),
    product("fastly-api-token", &["fastly"], &["[a-z0-9=_-]{32}"]),
    product("finicity-secret", &["finicity"], &["[a-f0-9]{32}", "[a-z0-9]{20}"]),
    product("finnhub-access-token", &["finnhub"], &["[a-z0-9]{20}"]),
    product("flickr-access-token", &["flickr"], &["[a-z0-9]{32}"]),
    product("freshbooks-access-token", &["freshbooks"], &["[a-z0-9]{64}"]),
    product("gitter-access-token", &["gitter"], &["[a-z0-9_-]{40}"]),
    product("gocardless-api-token", &["gocardless"], &["live_[a-z0-9_=-]{40}"]),
    product("heroku-api-key", &["heroku"], &[UUID]),
    product("hubspot-api-key", &["hubspot"], &[UUID]),
    product("intercom-api-key", &["intercom"], &["[a-z0-9=_-]{60}"]),
    product("jfrog-token", &["jfrog", "artifactory", "bintray", "xray"], &["[a-z0-9]{64}", "[a-z0-9]{73}"]),
    product("kraken-access-token", &["kraken"], &[r"[a-z0-9/=_+-]{80,90}"]),
    product("kucoin-key", &["kucoin"], &["[a-f0-9]{24}", UUID]),
    product("launchdarkly-access-token", &["launchdarkly"], &["[a-z0-9=_-]{40}"]),
    product("linear-client-secret", &["linear"], &["[a-f0-9]{32}"]),
    product("linkedin-client", &["linkedin", "linked_in", "linked-in"], &["[a-z0-9]{14}", "[a-z0-9]{16}"]),
    product("lob-api-key", &["lob"], &["(?:live|test)_[a-f0-9]{35}", "(?:live|test)_pub_[a-f0-9]{31}"]),
    product("looker-client", &["looker"], &["[a-z0-9]{20}", "[a-z0-9]{24}"]),
    product("mailgun-signing-key", &["mailgun"], &["[a-h0-9]{32}-[a-h0-9]{8}-[a-h0-9]{8}"]),
    product("mattermost-access-token", &["mattermost"], &["[a-z0-9]{26}"]),
    product("messagebird-client", &["messagebird", "message_bird", "message-bird"], &["[a-z0-9]{25}", UUID]),
    product("netlify-access-token", &["netlify"], &["[a-z0-9=_-]{40,46}"]),
    product("new-relic-user-api-id", &["newrelic", "new_relic", "new-relic"], &["[a-z0-9]{64}"]),
    product("nytimes-access-token", &["nytimes", "new-york-times", "newyorktimes"], &["[a-z0-9=_-]{32}"]),
    product("okta-access-token", &["okta"], &[r"00[\w=-]{40}"]),
    product("plaid-key", &["plaid"], &["[a-z0-9]{24}", "[a-z0-9]{30}"]),
    product("privateai-api-token", &["privateai", "private_ai", "private-ai"], &["[a-z0-9]{32}"]),
    product("rapidapi-access-token", &["rapidapi"], &["[a-z0-9_-]{50}"]),
    product("sendbird-access", &["sendbird"], &[UUID, "[a-f0-9]{40}"]),
    product("sentry-access-token", &["sentry"], &["[a-f0-9]{64}"]),
    product("sidekiq-secret", &["contribsys__com"], &["[a-f0-9]{8}:[a-f0-9]{8}"]),
    product("snyk-api-token", &["snyk"], &[UUID]),
    product("sonar-api-token", &["sonar"], &["(?:sq[upa]_)?[a-z0-9=_-]{40}"]),
    product("sourcegraph-access-token", &["sourcegraph"], &["[a-f0-9]{40}"]),
    product("squarespace-access-token", &["squarespace"], &[UUID]),
    product("sumologic-access", &["sumo"], &["su[a-z0-9]{12}", "[a-z0-9]{64}"]),
    product("telegram-bot-api-token", &["telegr"], &[r"[0-9]{5,16}:A[\w-]{34}"]),
    product("travisci-access-token", &["travis"], &["[a-z0-9]{22}"]),
    product("twitch-api-token", &["twitch"], &["[a-z0-9]{30}"]),
    product(
        "twitter-token",
        &["twitter"],
        &["[0-9]{15,25}-[a-z0-9]{20,40}", "[a-z0-9]{25}", "[a-z0-9]{45}", "[a-z0-9]{50}", "A{22}[a-z0-9%]{80,100}"],
    ),
    product("yandex-aws-access-token", &["yandex"], &[r"YC[\w-]{38}"]),
    product("zendesk-secret-key", &["zendesk"], &["[a-z0-9]{40}"]),
];
