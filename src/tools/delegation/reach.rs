//! What one agent is shown of the tools that ask: its own children as the only choice, its subagents under their names.

use base::TeamName;
use llm::Schema;
use serde_json::{Value, json};

use crate::catalogue::{Catalogue, Definition};
use crate::run::Asked;
use crate::wire;

/// The tools that take a child's name.
const TO_CHILDREN: [&str; 4] = ["delegate_parallel", "delegate_to", "query_team", "query_teams"];
/// The fields that name a child.
const CHILD_FIELDS: [&str; 2] = ["assignee", "team"];
/// The tool that all subagents' tools stand for.
pub const RUN_SUBAGENT: &str = "run_subagent";

/// Whether a tool asks another session of the hive that works and answers: a child's or a subagent's.
pub(crate) fn asks_another(name: &str) -> bool {
    name == RUN_SUBAGENT || TO_CHILDREN.contains(&name)
}

/// Whom an agent reaches.
pub struct Reach<'a> {
    /// Its team's direct children, in the order of their names: they change what a model is shown, and so what its
    /// provider has cached.
    pub children: &'a [TeamName],
    /// Its team's subagents.
    pub subagents: &'a Subagents,
}

/// A subagent as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Persona {
    /// Its name in the file.
    pub name: String,
    /// What it is for.
    pub about: String,
}

/// A team's subagents as tools: one each, under its own name as far as providers take it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subagents {
    /// By the name on the wire, sorted.
    tools: Vec<(String, Persona)>,
}

impl Reach<'_> {
    /// The definitions as this agent is shown them. Tools that would lead to nobody are left out; the others keep their
    /// places. The same agent is always shown the same bytes.
    pub fn fit(&self, definitions: Vec<Definition>) -> Vec<Definition> {
        let mut fitted = Vec::with_capacity(definitions.len());
        for definition in definitions {
            if definition.name == RUN_SUBAGENT {
                fitted.extend(self.subagents.definitions());
            } else if TO_CHILDREN.contains(&definition.name.as_str()) {
                if !self.children.is_empty() {
                    let schema = with_assignees(&definition.schema.value(), self.children).into();
                    fitted.push(Definition { schema, ..definition });
                }
            } else {
                fitted.push(definition);
            }
        }
        fitted
    }
}

/// The schema of a tool that takes a child's name, with these children as the only choice.
pub fn with_assignees(schema: &Value, children: &[TeamName]) -> Value {
    let mut schema = schema.clone();
    let names = json!(children.iter().map(TeamName::as_str).collect::<Vec<_>>());
    choose(&mut schema, &names);
    schema
}

fn choose(schema: &mut Value, names: &Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get_mut("properties") {
                for field in CHILD_FIELDS {
                    if let Some(Value::Object(child)) = properties.get_mut(field) {
                        child.insert("enum".to_owned(), names.clone());
                    }
                }
            }
            fields.values_mut().for_each(|value| choose(value, names));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| choose(item, names)),
        _ => {}
    }
}

impl Subagents {
    /// Names for these on the wire, which no tool of the catalogue has and no two of them share.
    pub fn of(catalogue: &Catalogue, personas: &[Persona]) -> Subagents {
        let mut tools: Vec<(String, Persona)> = Vec::with_capacity(personas.len());
        let mut personas = personas.to_vec();
        personas.sort_by(|a, b| a.name.cmp(&b.name));
        for persona in personas {
            let plain = plain(&persona.name);
            let taken = |name: &str| {
                name.is_empty()
                    || name == RUN_SUBAGENT
                    || catalogue.by_wire(name).is_some()
                    || tools.iter().any(|(other, _)| other == name)
            };
            let numbered = (1..).map(|number| match number {
                1 => plain.clone(),
                2 => joined("subagent", &plain),
                number => joined(&format!("subagent-{}", number - 1), &plain),
            });
            let name = numbered.into_iter().find(|name| !taken(name)).expect("of endlessly many names one is free");
            tools.push((name, persona));
        }
        tools.sort_by(|a, b| a.0.cmp(&b.0));
        Subagents { tools }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.tools.is_empty()
    }

    /// Their tools as a model is shown them.
    fn definitions(&self) -> impl Iterator<Item = Definition> {
        self.tools.iter().map(|(name, persona)| Definition {
            name: name.clone(),
            about: match persona.about.trim() {
                "" => format!("The subagent {}.", persona.name),
                about => about.to_owned(),
            },
            schema: Schema::from(json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["task"],
                "properties": {
                    "task": {
                        "type": "string",
                        "description": "What it is to do, with everything that it has to know: it knows nothing of \
                                        this conversation.",
                    },
                },
            })),
        })
    }

    /// A call of a subagent's own tool as the call of `run_subagent` that it stands for; every other call as it is.
    pub fn read(&self, asked: Asked) -> Asked {
        let Some((_, persona)) = self.tools.iter().find(|(name, _)| *name == asked.wire_name) else { return asked };
        let input = asked.input.map(|input| match input {
            Value::Object(mut fields) => {
                // Whatever the model wrote there, the tool it called is the subagent it means.
                fields.insert("name".to_owned(), json!(persona.name));
                Value::Object(fields)
            }
            other => other,
        });
        Asked { call_id: asked.call_id, wire_name: RUN_SUBAGENT.to_owned(), input }
    }
}

/// A name in letters that providers take. Two dashes side by side stand for a plugin's dot.
fn plain(name: &str) -> String {
    let mut plain = String::new();
    for c in name.trim().chars() {
        match c {
            c if c.is_ascii_alphanumeric() || c == '_' => plain.push(c),
            _ if plain.ends_with('-') || plain.is_empty() => {}
            _ => plain.push('-'),
        }
    }
    plain.truncate(wire::LENGTH_MAX);
    plain.trim_end_matches('-').to_owned()
}

fn joined(prefix: &str, plain: &str) -> String {
    let room = wire::LENGTH_MAX - prefix.len() - 1;
    let rest = plain[..plain.len().min(room)].trim_end_matches('-');
    if rest.is_empty() { prefix.to_owned() } else { format!("{prefix}-{rest}") }
}
