package sqltx

// Dialect is the SQL dialect of a database, for the configurations of stores: a *sql.DB does not
// reveal it.
type Dialect string

// The dialects.
const (
	Postgres Dialect = "postgres" // with pgx's database/sql driver
	SQLite   Dialect = "sqlite"
	MySQL    Dialect = "mysql" // and MariaDB
)
