package driver

import "io/fs"

// Migrations are the migrations of one version table, for a tool that runs those of all packages.
type Migrations struct {
	// Package names the version table, millrace_<Package>_version.
	Package string
	// Schema holds the tables and their versions. If it is "", names are resolved by the
	// connection.
	Schema string
	// Dialect is goose's name of the database: postgres, sqlite3 or mysql.
	Dialect string
	// FS holds the migration files, in goose's format.
	FS fs.FS
}
