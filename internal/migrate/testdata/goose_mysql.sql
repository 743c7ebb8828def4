CREATE TABLE millrace_demo_version (
	id bigint(20) unsigned NOT NULL AUTO_INCREMENT,
	version_id bigint NOT NULL,
	is_applied boolean NOT NULL,
	tstamp datetime NULL default CURRENT_TIMESTAMP,
	PRIMARY KEY(id)
);
INSERT INTO millrace_demo_version (version_id, is_applied) VALUES (0, true);
CREATE TABLE IF NOT EXISTS log (step INTEGER);
INSERT INTO log (step) VALUES (1);
INSERT INTO millrace_demo_version (version_id, is_applied) VALUES (1, true);
INSERT INTO log (step) VALUES (2);
INSERT INTO millrace_demo_version (version_id, is_applied) VALUES (2, true);
