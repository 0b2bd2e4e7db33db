//! A file goes to the conversation as it was when it was sent.

use channels::{Action, FileSource};
use serde_json::json;
use store::outbox;

use super::{done, refusal};
use crate::testing::World;

#[tokio::test]
async fn a_file_is_queued_for_the_conversation() {
    let world = World::new().await;
    let home = world.home();
    std::fs::create_dir(home.join("out")).unwrap();
    std::fs::write(home.join("out/report.csv"), "a,b\n").unwrap();
    let said = done(&world, "attach_file", json!({"source": "out/report.csv"})).await;
    assert_eq!(said, "`report.csv` is on its way to the conversation");
    std::fs::write(home.join("out/report.csv"), "changed").unwrap();

    let room = world.origin.conversation.clone().unwrap();
    let row = world.db.read(async |conn| outbox::head(conn, &room).await).await.unwrap().unwrap();
    assert_eq!((row.topic, row.run), (world.origin.topic, Some(world.run)));
    let Action::Send(piece) = row.action else { panic!("{:?}", row.action) };
    let [file] = piece.files.as_slice() else { panic!("{piece:?}") };
    assert_eq!(file.name, "report.csv");
    let FileSource::Path(copy) = &file.source else { panic!("{file:?}") };
    assert_eq!(std::fs::read_to_string(copy).unwrap(), "a,b\n", "as it was");
}

#[tokio::test]
async fn what_cannot_be_sent_is_refused() {
    let world = World::new().await;
    let home = world.home();
    std::fs::write(home.join("empty"), "").unwrap();
    std::fs::write(home.join("a.txt"), "a").unwrap();
    std::fs::write(world.folder.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("../../secret", home.join("link")).unwrap();
    let long = std::fs::File::create(home.join("long")).unwrap();
    long.set_len(60_000_000).unwrap();
    for (input, expected) in [
        (json!({"path": "empty"}), "is empty"),
        (json!({"path": "long"}), "is longer than 50000000 bytes"),
        (json!({"path": "link"}), "is a link"),
        (json!({"path": "../../openhive.db"}), "is outside of the workspace"),
        (json!({"path": "a.txt", "fileName": ".."}), "is no name for a file"),
    ] {
        let why = refusal(&world, "attach_file", input.clone()).await;
        assert!(why.contains(expected), "{input}: {why}");
    }
    let said = done(&world, "attach_file", json!({"path": "a.txt", "fileName": "../../etc/b\n.txt"})).await;
    assert_eq!(said, "`b\\n.txt` is on its way to the conversation");
    let mut nobody = world;
    nobody.origin.conversation = None;
    assert!(refusal(&nobody, "attach_file", json!({"path": "a.txt"})).await.contains("belongs to no conversation"));
}
