// Package place gives each system under measurement a schema (PostgreSQL) or a
// database (MariaDB, MySQL) of its own, made afresh and dropped at the end.
package place
