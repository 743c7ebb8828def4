package debezium

// Settings is settings.
func Settings(o Options) ([]setting, error) { return settings(o) }
