//! published_api
