CREATE TABLE millrace_version (
	id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY,
	version_id bigint NOT NULL,
	is_applied boolean NOT NULL,
	tstamp datetime NULL DEFAULT CURRENT_TIMESTAMP
);
