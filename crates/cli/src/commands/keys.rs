//! `fluxway keys`.

use std::sync::Arc;
use std::time::Duration;

use secrecy::{ExposeSecret, SecretString};
use serde_json::{Value, json};
use server::access::{KeyEnvironment, KeyListing, KeyRecord, Pepper};
use server::projects::{Account, Error, ProjectId};
use server::{Entropy, OsEntropy, Scope, Timestamp};
use store::Store;

use super::database;
use crate::args::KeysCommand;
use crate::config::Config;
use crate::exit::{self, CommandError, SecretOutput, print_notice};
use crate::table::render_table;

pub(crate) fn run(mut config: Config, command: KeysCommand) -> Result<(), CommandError> {
    let database = database::DatabaseHandle::for_settings(&config.serving);
    let stopped = interruption_notice(&command);
    database::run_with_store(&database, stopped, async move |store, now| {
        let pepper = database::resolve_pepper(&mut config.serving, store.as_ref()).await?;
        let admin = KeyAdmin { store: &store, pepper, now };
        match command {
            KeysCommand::Create { scope, project, expires, label, tenant, test, json } => {
                let scope = scope.into_iter().max().unwrap_or(Scope::Read);
                let environment = if test { KeyEnvironment::Test } else { KeyEnvironment::Live };
                let record = admin.new_record(label, tenant, environment, scope, project, expires)?;
                admin.check_project(&record).await?;
                admin.create(record, json).await
            }
            KeysCommand::List { tenant, json } => admin.list(tenant.as_deref(), json).await,
            KeysCommand::Revoke { id } => admin.revoke(&id).await,
            KeysCommand::Rotate { id, overlap } => admin.rotate(&id, overlap).await,
        }
    })
}

/// What an interrupted command may have left behind.
fn interruption_notice(command: &KeysCommand) -> &'static str {
    match command {
        KeysCommand::Create { .. } => {
            "a key that was already printed may not be stored; it works only if `fluxway keys list` shows it"
        }
        KeysCommand::List { .. } => "nothing was changed",
        KeysCommand::Revoke { .. } => {
            "`fluxway keys list` shows whether the key is revoked; run the command again to revoke it"
        }
        KeysCommand::Rotate { .. } => {
            "a secret that was printed already may not be stored, and the old one may have begun to run out; the same command \
             makes a new one and shows it"
        }
    }
}

/// Where keys are made and ended.
struct KeyAdmin<'a> {
    store: &'a Arc<dyn Store>,
    pepper: Pepper,
    now: Timestamp,
}

impl KeyAdmin<'_> {
    fn new_record(
        &self,
        label: String,
        tenant: String,
        environment: KeyEnvironment,
        scope: Scope,
        project: Option<String>,
        expires: Option<Duration>,
    ) -> Result<KeyRecord, CommandError> {
        for (name, text) in
            [("label", Some(&label)), ("tenant", Some(&tenant)), ("project", project.as_ref())]
        {
            validate_name(name, text.map(String::as_str).unwrap_or_default())?;
        }
        if tenant.is_empty() {
            return Err(CommandError::Usage("--tenant must not be empty".to_owned()));
        }
        let expires = expires.map(|life| self.now.checked_add(life)).transpose();
        let expires =
            expires.map_err(|_| CommandError::Usage("--expires: that is too far away".to_owned()))?;
        let (id, created) = (new_id(), self.now);
        Ok(KeyRecord { id, tenant, label, environment, scope, project, created, expires, revoked: None })
    }

    /// A key for a project that its tenant does not have would open nothing.
    async fn check_project(&self, record: &KeyRecord) -> Result<(), CommandError> {
        let Some(project) = &record.project else { return Ok(()) };
        let tenant = Account::new(&record.tenant);
        let found = match ProjectId::parse(project) {
            Ok(id) => self.store.projects().project(&tenant, &id).await.map(drop),
            Err(refusal) => Err(refusal.into()),
        };
        match found {
            Err(Error::Rejected(_)) => Err(CommandError::Refused(format!(
                "{tenant} has no project `{project}`; `fluxway projects list` shows whose projects there are, and --tenant \
                 says whose key it is"
            ))),
            found => Ok(found?),
        }
    }

    async fn create(&self, record: KeyRecord, as_json: bool) -> Result<(), CommandError> {
        let (key, credential) = self.pepper.issue(record.environment, |bytes| OsEntropy.fill(bytes));
        let shown = if as_json {
            let mut shown = key_json(&record, self.now);
            shown["key"] = key.expose_secret().into();
            SecretString::from(shown.to_string())
        } else {
            key
        };
        let out = self.print_secret(&shown, "the key cannot be shown, and none was made").await?;
        let kept = self.store.add_key(record.clone(), credential).await;
        out.finish();
        kept.inspect_err(|_| {
            print_notice("The key that was printed may not have been stored. Do not use it.");
        })?;
        if !as_json {
            print_key_notice(&record);
        }
        Ok(())
    }

    /// Prints the secret before it is stored: a key that was never shown must not work.
    async fn print_secret(&self, text: &SecretString, if_not: &str) -> Result<SecretOutput, CommandError> {
        // Once it is printed, little should be left that can go wrong.
        self.store.check_ready().await?;
        let printed = SecretOutput::open().and_then(|mut out| out.write(text.expose_secret()).map(|()| out));
        printed.map_err(CommandError::io(if_not))
    }

    async fn list(&self, tenant: Option<&str>, as_json: bool) -> Result<(), CommandError> {
        let keys = self.store.list_keys(tenant).await?;
        if as_json {
            let keys: Vec<Value> = keys.iter().map(|listing| self.json_entry(listing)).collect();
            return exit::print(&json!({ "keys": keys }).to_string());
        }
        if keys.is_empty() {
            print_notice("There are no keys. Create one with `fluxway keys create`.");
            return Ok(());
        }
        let head =
            ["ID", "PREFIX", "TENANT", "SCOPE", "STATE", "CREATED", "LAST USED", "LABEL"].map(str::to_owned);
        let rows: Vec<[String; 8]> =
            std::iter::once(head).chain(keys.iter().map(|key| self.table_row(key))).collect();
        exit::print(&render_table(&rows, ""))
    }

    fn json_entry(&self, listing: &KeyListing) -> Value {
        let mut entry = key_json(&listing.key, self.now);
        entry["prefixes"] = json!(listing.prefixes);
        entry["lastUsed"] = json!(listing.last_used.map(|time| time.to_string()));
        entry
    }

    fn table_row(&self, listing: &KeyListing) -> [String; 8] {
        let key = &listing.key;
        let project = key.project.as_ref().map_or_else(String::new, |project| format!(" ({project})"));
        [
            key.id.clone(),
            listing.prefixes.first().map_or_else(|| "-".to_owned(), |prefix| format!("{prefix}…")),
            key.tenant.clone(),
            format!("{}{project}", key.scope),
            state_label(key, self.now),
            format_time(key.created),
            listing.last_used.map_or_else(|| "never".to_owned(), format_time),
            key.label.clone(),
        ]
    }

    async fn revoke(&self, id: &str) -> Result<(), CommandError> {
        let key = self.store.revoke_key(id, self.now).await?.ok_or_else(|| unknown_key(id))?;
        print_notice(&format!("{} is revoked; every replica rejects it within two seconds.", key.id));
        Ok(())
    }

    async fn rotate(&self, id: &str, overlap: Duration) -> Result<(), CommandError> {
        let keys = self.store.list_keys(None).await?;
        let known = keys.iter().find(|listing| listing.key.id == id).ok_or_else(|| unknown_key(id))?;
        let revoked = || CommandError::Refused(format!("{id} has been revoked; make a new key instead"));
        if known.key.revoked.is_some() {
            return Err(revoked());
        }
        let (key, credential) = self.pepper.issue(known.key.environment, |bytes| OsEntropy.fill(bytes));
        let old_until = self.now.checked_add(overlap).unwrap_or(Timestamp::MAX);
        let out =
            self.print_secret(&key, "the new secret cannot be shown, and the key stays as it was").await?;
        let record = self.store.rotate_key(id, credential, old_until).await;
        out.finish();
        let record = record.map_err(CommandError::from).and_then(|record| record.ok_or_else(revoked));
        let record = record.inspect_err(|_| {
            print_notice("The secret that was printed may not have been stored. Do not use it.");
        })?;
        print_notice(&format!("The old secret of {id} works until {}.", format_time(old_until)));
        print_key_notice(&record);
        Ok(())
    }
}

/// What people have to know about a key. The key alone is on stdout.
fn print_key_notice(record: &KeyRecord) {
    let end = record.expires.map_or_else(String::new, |end| format!(", until {}", format_time(end)));
    print_notice(&format!(
        "{}: {} for {}{end}. It is shown this once.",
        record.id, record.scope, record.tenant
    ));
}

fn unknown_key(id: &str) -> CommandError {
    CommandError::Refused(format!("there is no key `{id}`; `fluxway keys list` shows the ids"))
}

fn new_id() -> String {
    let mut bytes = [0; 8];
    OsEntropy.fill(&mut bytes);
    format!("key_{:016x}", u64::from_be_bytes(bytes))
}

fn state_label(key: &KeyRecord, now: Timestamp) -> String {
    match (key.revoked, key.expires) {
        (Some(_), _) => "revoked".to_owned(),
        (None, Some(end)) if end <= now => "expired".to_owned(),
        (None, Some(end)) => format!("until {}", format_time(end)),
        (None, None) => "active".to_owned(),
    }
}

fn key_json(key: &KeyRecord, now: Timestamp) -> Value {
    let state = state_label(key, now);
    json!({
        "id": key.id,
        "tenant": key.tenant,
        "label": key.label,
        "environment": key.environment.as_str(),
        "scope": key.scope.as_str(),
        "project": key.project,
        "created": key.created.to_string(),
        "expires": key.expires.map(|time| time.to_string()),
        "revoked": key.revoked.map(|time| time.to_string()),
        "state": state.split(' ').next().map(|word| if word == "until" { "active" } else { word }),
    })
}

/// Names are for lists and logs: one line, and not too long.
fn validate_name(name: &str, text: &str) -> Result<(), CommandError> {
    if text.chars().count() > 200 || text.chars().any(char::is_control) {
        return Err(CommandError::Usage(format!(
            "--{name} takes up to 200 characters, and none that control terminals"
        )));
    }
    Ok(())
}

fn format_time(time: Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%M").to_string()
}

/// A span of time as people write it.
pub(crate) fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time; write a number and m, h, d or w, such as 90d");
    let unit = text.chars().last().ok_or_else(wrong)?;
    let number: u64 = text[..text.len() - unit.len_utf8()].parse().map_err(|_| wrong())?;
    let minutes = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return Err(wrong()),
    };
    number.checked_mul(minutes * 60).map(Duration::from_secs).ok_or_else(wrong)
}

/// How long a key works. One that never does would look like any other.
pub(crate) fn parse_lifetime(text: &str) -> Result<Duration, String> {
    let life = parse_duration(text)?;
    if life.is_zero() {
        return Err(
            "a key must work for some time; leave --expires out for one that never expires".to_owned()
        );
    }
    Ok(life)
}

#[cfg(test)]
mod tests {
    use super::{parse_duration, parse_lifetime};

    #[test]
    fn a_key_lives_for_some_time() {
        for (text, is_valid) in [("1m", true), ("90d", true), ("0d", false), ("0m", false), ("d", false)] {
            assert_eq!(parse_lifetime(text).is_ok(), is_valid, "{text}");
        }
    }

    #[test]
    fn durations_need_a_number_and_a_unit() {
        for (text, seconds) in [
            ("30m", Some(1_800)),
            ("12h", Some(43_200)),
            ("90d", Some(7_776_000)),
            ("2w", Some(1_209_600)),
            ("0m", Some(0)),
            ("90", None),
            ("d", None),
            ("", None),
            ("-1d", None),
            ("1y", None),
            ("99999999999999999999d", None),
            ("9999999999999999d", None),
            ("1é", None),
        ] {
            assert_eq!(parse_duration(text).ok().map(|time| time.as_secs()), seconds, "{text}");
        }
    }
}
