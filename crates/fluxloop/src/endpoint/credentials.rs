//! The headers of a request whose values come from the environment.

use super::obstacles::{credential_header, required_headers};
use super::{AgentEndpoint, EnvironmentHeader, OWN_CHECK};

impl AgentEndpoint {
    /// Sends the headers without which the handler refuses a request.
    pub(super) fn add_required_headers(&mut self, source: &str) {
        for name in required_headers(source) {
            let header = EnvironmentHeader::new(&name);
            self.warnings.push(format!(
                "{} asks for the header `{name}`: before a run, set {} to its value",
                self.label, header.variable
            ));
            self.headers.push(header);
        }
    }

    /// Sends credentials from the environment, because something in front of the handler checks them.
    pub(crate) fn require_credentials(&mut self, guard: &str, source: &str) {
        let lower = guard.to_lowercase();
        let is_login = ["login_required", "loginrequired"].iter().any(|word| lower.contains(word));
        let by_session = ["session", "auth(", "getauth", "getuser", "currentuser", "clerk", "supabase"];
        let lower_source = source.to_lowercase();
        let reads_header =
            ["authorization\"", "authorization'", ".authorization", "bearer", "x-api-key", "httpbearer"]
                .iter()
                .any(|word| lower_source.contains(word));
        let is_cookie = is_login
            || !reads_header
                && (matches!(lower.trim_matches('`'), "auth")
                    || by_session.iter().any(|word| lower.contains(word)))
            || guard == OWN_CHECK
                && !reads_header
                && (source.contains("session") || source.contains("cookies"))
            || !reads_header
                && ["cookies.", "cookies[", "cookies?."].iter().any(|read| lower_source.contains(read));
        let name = if is_cookie { "Cookie".to_owned() } else { credential_header(source) };
        let header = EnvironmentHeader::new(&name);
        if self.headers.contains(&header) {
            return;
        }
        let takes_bearer =
            ["bearer", "oauth2", "jwt_required"].iter().any(|word| lower_source.contains(word));
        let form = match name.as_str() {
            "Authorization" if lower_source.contains("httpbasic") || lower_source.contains("basicauth") => {
                ", such as `Basic` and `user:password` in base64"
            }
            "Authorization" if source.contains("TokenAuthentication") => ", such as `Token TOKEN`",
            "Authorization" if takes_bearer || !lower_source.contains("authorization") => {
                ", such as `Bearer TOKEN`"
            }
            _ => "",
        };
        self.warnings.push(format!(
            "{} is protected by {guard}: before a run, set {} to the value of the header `{name}`{form}",
            self.label, header.variable
        ));
        self.headers.push(header);
    }
}
