//! The questions asked before the plan is built. A question with a single possible answer is skipped.

use flow::{Flow, Halt, InvalidAnswer, choice, text};
use fluxloop::IntegrationOptions;

use super::Args;
use super::survey::{AgentOption, IntegrationCandidate, IntegrationSurvey, UnknownRequestField};
use crate::tools::support::integration::{VariantChoice, release_line};

/// What to integrate, and how.
pub(super) struct IntegrationChoice {
    pub(super) framework: String,
    pub(super) options: IntegrationOptions,
    /// The user typed the agent, so it can be asked for again if it cannot be run.
    pub(super) is_agent_typed: bool,
}

/// Option that leaves the choice to the analysis.
const AUTO: &str = "auto";
/// Option for an agent that is not listed.
const OTHER_AGENT: &str = "another";

/// Asks for everything that the arguments leave open.
pub(super) async fn ask_choice(
    f: &mut Flow<'_>,
    survey: &IntegrationSurvey,
    args: &Args,
) -> Result<IntegrationChoice, Halt> {
    let package = ask_package(f, survey).await?;
    let fits: Vec<&IntegrationCandidate> = survey.fits.iter().filter(|fit| fit.package == package).collect();
    let fit = ask_framework(f, &fits).await?;
    let variant = ask_variant(f, fit, args).await?;
    let named = match variant {
        VariantChoice::Auto => fit.variant.as_str(),
        VariantChoice::Sdk => "sdk",
        VariantChoice::Bridge => "bridge",
    };
    let open = args.agent.is_none() && fit.runs_an_agent(named);
    let (agent, is_typed) = if open { ask_agent(f, fit).await? } else { (args.agent.clone(), false) };
    let is_it = |known: &&AgentOption| agent.as_ref().is_none_or(|agent| *agent == known.value);
    let field = fit.agents.iter().find(is_it).and_then(|agent| agent.field.as_ref());
    let request_field = match (&args.request_field, field) {
        (None, Some(field)) => Some(ask_request_field(f, field).await?),
        (given, _) => given.clone(),
    };
    let options = IntegrationOptions {
        package: Some(fit.package.clone()),
        variant: variant.variant(),
        release_line: release_line(args.cli.as_deref()),
        agent,
        request_field,
    };
    Ok(IntegrationChoice { framework: fit.framework.clone(), options, is_agent_typed: is_typed })
}

async fn ask_package(f: &mut Flow<'_>, survey: &IntegrationSurvey) -> Result<String, Halt> {
    let mut options: Vec<(String, String)> = Vec::new();
    for fit in &survey.fits {
        match options.iter_mut().find(|(package, _)| *package == fit.shown) {
            Some((_, label)) => label.extend(["; or ", &fit.why]),
            None => options.push((fit.shown.clone(), format!("{}: {}", fit.shown, describe_candidate(fit)))),
        }
    }
    let package_of = |shown: &str| {
        let fit = survey.fits.iter().find(|fit| fit.shown == shown);
        fit.map(|fit| fit.package.clone()).unwrap_or_default()
    };
    let surest = options.first().map(|(shown, _)| shown.clone()).unwrap_or_default();
    if options.len() == 1 {
        return Ok(package_of(&surest));
    }
    let more = match survey.unseen {
        0 => String::new(),
        more => format!(" Packages not analysed: {more}; pass `package` to choose one of them."),
    };
    let question = format!("Which package should FluxLoop be integrated into?{more}");
    let chosen = f.ask("package", choice(question, options).default(surest)).await?;
    Ok(package_of(&chosen))
}

async fn ask_framework<'s>(
    f: &mut Flow<'_>,
    fits: &[&'s IntegrationCandidate],
) -> Result<&'s IntegrationCandidate, Halt> {
    let first = fits.first().copied().ok_or_else(|| Halt::refuse("unknown package"))?;
    if fits.len() == 1 {
        return Ok(first);
    }
    let options = fits.iter().map(|fit| (fit.framework.clone(), describe_candidate(fit)));
    let question = choice("Which framework should the integration use?", options);
    let chosen = f.ask("framework", question.default(first.framework.clone())).await?;
    Ok(fits.iter().find(|fit| fit.framework == chosen).copied().unwrap_or(first))
}

fn describe_candidate(fit: &IntegrationCandidate) -> String {
    let target = if fit.target.is_empty() { String::new() } else { format!(", runs {}", fit.target) };
    format!("{}{target}", fit.why)
}

async fn ask_variant(
    f: &mut Flow<'_>,
    fit: &IntegrationCandidate,
    args: &Args,
) -> Result<VariantChoice, Halt> {
    let wish = |name: &str| match name {
        "sdk" => VariantChoice::Sdk,
        "bridge" => VariantChoice::Bridge,
        _ => VariantChoice::Auto,
    };
    // Without a reason the default variant is impossible: the feasible one must be requested explicitly, even
    // for a caller that passed `auto`.
    let Some(why) = &fit.why_variant else { return Ok(wish(&fit.variant)) };
    if let Some(given) = args.variant {
        return Ok(given);
    }
    if fit.variants.len() == 1 {
        return Ok(VariantChoice::Auto);
    }
    let sdk = if fit.is_python() {
        "sdk: decorators on the agent's functions"
    } else {
        "sdk: middleware from @fluxloop/sdk, which is not on the public npm registry"
    };
    let options = [
        (AUTO, format!("auto: {}, because {why}", fit.variant)),
        ("sdk", sdk.to_owned()),
        ("bridge", "bridge: the program stays unchanged; FluxLoop calls it from outside".to_owned()),
    ];
    let chosen =
        f.ask("variant", choice("How should FluxLoop be integrated?", options).default(AUTO)).await?;
    Ok(wish(&chosen))
}

/// The agent, `None` for the one that analysis picks; and whether the user typed it.
async fn ask_agent(f: &mut Flow<'_>, fit: &IntegrationCandidate) -> Result<(Option<String>, bool), Halt> {
    let option = |agent: &AgentOption| (agent.shown.clone(), agent.label.clone());
    let mut options: Vec<(String, String)> = fit.agents.iter().map(option).collect();
    let value_of = |shown: &str| {
        let agent = fit.agents.iter().find(|agent| agent.shown == shown);
        agent.map_or_else(|| shown.to_owned(), |agent| agent.value.clone())
    };
    let usual = fit.agents.iter().find(|agent| agent.is_usual).map(|agent| agent.shown.clone());
    if usual.is_none() {
        options.insert(0, (AUTO.to_owned(), format!("{} (found by analysis)", fit.target)));
    }
    if let [(only, _)] = options.as_slice() {
        // A route with an unknown request field must be named; the recipe finds any other agent by itself.
        let is_unclear = fit.agents.iter().any(|agent| agent.field.is_some());
        return Ok((is_unclear.then(|| value_of(only)), false));
    }
    options.push((OTHER_AGENT.to_owned(), "another function or route".to_owned()));
    let question = choice("What should FluxLoop run?", options).default(usual.as_deref().unwrap_or(AUTO));
    let chosen = f.ask("agent", question).await?;
    match chosen.as_str() {
        AUTO => Ok((None, false)),
        OTHER_AGENT => Ok((Some(ask_agent_name(f, None).await?), true)),
        shown => Ok((Some(value_of(shown)), false)),
    }
}

/// Asks for a function or route by name. `problem` says why the previous answer could not be run.
pub(super) async fn ask_agent_name(f: &mut Flow<'_>, problem: Option<&str>) -> Result<String, Halt> {
    const QUESTION: &str = "Which function or route should FluxLoop run?";
    let problem = problem.map(|problem| format!("{problem}.\n")).unwrap_or_default();
    let question = text(QUESTION).length(3..=300).placeholder("path/to/file.py:function, or POST /chat");
    let accept =
        |answer: &String| validate_agent_reference(answer).map_err(|invalid| ("agent".to_owned(), invalid));
    f.form_until(&format!("{problem}{QUESTION}"), ("agent", question), accept).await
}

/// Checks that a string has the form of a function or route. Building the plan shows whether it exists.
fn validate_agent_reference(text: &str) -> Result<(), InvalidAnswer> {
    let is_function = text.split_once(':').is_some_and(|(path, name)| {
        !path.is_empty()
            && !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '.')
    });
    let is_route = text.split_once(' ').is_some_and(|(method, path)| {
        method.chars().all(|c| c.is_ascii_alphabetic()) && path.starts_with('/')
    });
    if is_function || is_route {
        return Ok(());
    }
    Err(InvalidAnswer::new(
        "That is neither a function nor a route",
        "Use path/to/file.py:function, or a route such as POST /chat",
    ))
}

/// Asks for the request field. No default: the question is asked only if the code does not show the field.
async fn ask_request_field(f: &mut Flow<'_>, field: &UnknownRequestField) -> Result<String, Halt> {
    const QUESTION: &str = "Which request field contains the input text?";
    let message = format!("{}.\n{QUESTION}", field.why);
    if field.known.len() > 1 {
        let options = field.known.iter().map(|name| (name.clone(), name.clone()));
        return f.form(&message, ("request_field", choice(QUESTION, options))).await;
    }
    let known = field.known.first().map_or("message", String::as_str);
    let question = text(QUESTION).length(1..=100).placeholder(format!("e.g. {known}"));
    f.form(&message, ("request_field", question)).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_functions_and_routes_are_valid_agent_references() {
        for (text, expected) in [
            ("app/agent.py:answer", true),
            ("app/agent.py:Bot.answer", true),
            ("POST /chat", true),
            ("get /", true),
            ("answer", false),
            ("app/agent.py", false),
            ("app/agent.py:", false),
            ("app/agent.py:answer()", false),
            ("POST chat", false),
        ] {
            assert_eq!(validate_agent_reference(text).is_ok(), expected, "{text}");
        }
    }
}
