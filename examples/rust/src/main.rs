//! Stores a card, reads it, lists cards, and sends the card through a proxy. See README.md.

use std::{env, error::Error, process::ExitCode, time::Duration};

use prost_types::{Struct, Value, value::Kind};
use tonic::{
    Request, Status,
    metadata::{Ascii, MetadataValue},
    service::{Interceptor, interceptor::InterceptedService},
    transport::{Channel, Endpoint},
};

use protos::cloakroom::v1::{
    CreateTokenRequest, GetTokenRequest, InvokeProxyRequest, ListTokensByCursorRequest,
    invoke_proxy_request::Target, proxy_service_client::ProxyServiceClient,
    token_service_client::TokenServiceClient,
};
use protos::google::api::HttpBody;

mod protos {
    #![allow(clippy::all, dead_code)]
    tonic::include_proto!("protos");
}

/// Adds the key to each call.
#[derive(Clone)]
struct WithKey(MetadataValue<Ascii>);

impl Interceptor for WithKey {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        request.metadata_mut().insert("bt-api-key", self.0.clone());
        Ok(request)
    }
}

type Authenticated = InterceptedService<Channel, WithKey>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let Err(error) = run().await else {
        return ExitCode::SUCCESS;
    };
    match error.downcast_ref::<Status>() {
        Some(status) => eprintln!("{:?}: {}", status.code(), status.message()),
        None => eprintln!("{error}"),
    }
    ExitCode::FAILURE
}

async fn run() -> Result<(), Box<dyn Error>> {
    let mut key: MetadataValue<Ascii> = env::var("CLOAKROOM_API_KEY")
        .map_err(|_| "CLOAKROOM_API_KEY is not set")?
        .parse()?;
    key.set_sensitive(true);
    let target = env::var("CLOAKROOM_TARGET").unwrap_or("127.0.0.1:8080".into());
    // Use https:// and .tls_config(ClientTlsConfig::new().with_native_roots()) for a vault with TLS.
    let channel = Endpoint::from_shared(format!("http://{target}"))?
        .timeout(Duration::from_secs(10))
        .connect()
        .await?;
    let mut tokens = TokenServiceClient::with_interceptor(channel.clone(), WithKey(key.clone()));

    let request = CreateTokenRequest {
        r#type: "card".into(),
        data: Some(card("4242424242424242", 12, 2030)),
        ..Default::default()
    };
    let created = tokens.create_token(request).await?.into_inner();
    let shown = created.card.unwrap_or_default();
    println!("created {} {} {}", created.id, shown.brand(), shown.last4());

    let request = GetTokenRequest {
        id: created.id.clone(),
    };
    let read = tokens.get_token(request).await?.into_inner();
    if let Some(Value {
        kind: Some(Kind::StructValue(data)),
    }) = read.data
    {
        println!("read {} fields", data.fields.len());
    }
    println!("listed {}", count_cards(&mut tokens).await?);

    if let Ok(destination) = env::var("DESTINATION_URL") {
        let body = format!(
            r#"{{"number": "{{{{ {} | json: '$.number' }}}}"}}"#,
            created.id
        );
        let request = InvokeProxyRequest {
            target: Some(Target::ProxyUrl(destination)),
            method: "POST".into(),
            body: Some(HttpBody {
                content_type: "application/json".into(),
                data: body.into_bytes(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let mut proxies = ProxyServiceClient::with_interceptor(channel, WithKey(key));
        println!(
            "proxied {}",
            proxies.invoke_proxy(request).await?.into_inner().status
        );
    }
    Ok(())
}

fn card(number: &str, month: u8, year: u16) -> Value {
    let fields = [
        ("number", Kind::StringValue(number.into())),
        ("expiration_month", Kind::NumberValue(month.into())),
        ("expiration_year", Kind::NumberValue(year.into())),
    ];
    let fields = fields
        .map(|(name, kind)| (name.into(), Value { kind: Some(kind) }))
        .into();
    Value {
        kind: Some(Kind::StructValue(Struct { fields })),
    }
}

async fn count_cards(tokens: &mut TokenServiceClient<Authenticated>) -> Result<usize, Status> {
    let mut request = ListTokensByCursorRequest {
        r#type: Some("card".into()),
        size: Some(100),
        ..Default::default()
    };
    let mut count = 0;
    loop {
        let page = tokens
            .list_tokens_by_cursor(request.clone())
            .await?
            .into_inner();
        count += page.data.len();
        match page.pagination.and_then(|pagination| pagination.next) {
            Some(next) => request.start = Some(next),
            None => return Ok(count),
        }
    }
}
