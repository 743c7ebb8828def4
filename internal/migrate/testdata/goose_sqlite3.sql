CREATE TABLE millrace_demo_version (
	id INTEGER PRIMARY KEY AUTOINCREMENT,
	version_id INTEGER NOT NULL,
	is_applied INTEGER NOT NULL,
	tstamp TIMESTAMP DEFAULT (datetime('now'))
);
INSERT INTO millrace_demo_version (version_id, is_applied) VALUES (0, 1);
CREATE TABLE IF NOT EXISTS log (step INTEGER);
INSERT INTO log (step) VALUES (1);
INSERT INTO millrace_demo_version (version_id, is_applied) VALUES (1, 1);
INSERT INTO log (step) VALUES (2);
INSERT INTO millrace_demo_version (version_id, is_applied) VALUES (2, 1);
