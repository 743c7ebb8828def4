package pgbus

// Parameters lists the parameters of the connection.
func Parameters() []string { return parameters() }
