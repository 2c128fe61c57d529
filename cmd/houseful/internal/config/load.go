package config

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/knadh/koanf/providers/posflag"
	"github.com/knadh/koanf/v2"
	"github.com/spf13/pflag"
)

// EnvPrefix starts the name of every variable that is a setting.
const EnvPrefix = "HOUSEFUL_"

// tag is the struct tag that names a setting.
const tag = "koanf"

// ErrSetting is wrapped by everything that Load refuses: a setting nobody knows, or a value that does not fit.
var ErrSetting = errors.New("wrong setting")

// Register adds a flag for every setting of target, a pointer to a struct with koanf and usage tags. The struct's
// values are the flags' defaults.
func Register(flags *pflag.FlagSet, target any) {
	for name, setting := range settings(target) {
		usage := setting.field.Tag.Get("usage")
		switch p := setting.value.Addr().Interface().(type) {
		case *string:
			flags.String(name, *p, usage)
		case *int:
			flags.Int(name, *p, usage)
		case *bool:
			flags.Bool(name, *p, usage)
		case *time.Duration:
			flags.Duration(name, *p, usage)
		case *[]string:
			flags.StringSlice(name, *p, usage)
		default:
			panic(fmt.Sprintf("config: setting %s has a type without a flag", name))
		}
		if setting.field.Tag.Get("cluster") != "" {
			flags.Lookup(name).Hidden = true
		}
	}
}

// Load fills target from the flags that were given, the variables in environ, the file (unless its name is empty) and
// target's own values, in this order of precedence. Variables whose setting is in alsoKnown belong to another command
// and are left alone.
func Load(flags *pflag.FlagSet, environ []string, file string, target any, alsoKnown ...string) error {
	layers := koanf.New(".")
	if file != "" {
		values, err := fromFile(file, target)
		if err != nil {
			return err
		}
		if err := layers.Load(values, nil); err != nil {
			return fmt.Errorf("%w: %s: %w", ErrSetting, file, err)
		}
	}
	values, err := fromEnvironment(environ, target, alsoKnown)
	if err != nil {
		return err
	}
	if err := layers.Load(values, nil); err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	// Flags that were not given stand back behind the layers above and fill in the defaults.
	known := pflag.NewFlagSet("", pflag.ContinueOnError)
	for name := range settings(target) {
		known.AddFlag(flags.Lookup(name))
	}
	if err := layers.Load(posflag.Provider(known, ".", layers), nil); err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	if err := layers.Unmarshal("", target); err != nil {
		return fmt.Errorf("%w: %w", ErrSetting, err)
	}
	return nil
}

// EnvName is the variable of a setting: HOUSEFUL_DATA_DIR of data-dir.
func EnvName(setting string) string {
	return EnvPrefix + strings.ToUpper(strings.ReplaceAll(setting, "-", "_"))
}

// Names lists the settings of target in their order.
func Names(target any) []string {
	var names []string
	for name := range settings(target) {
		names = append(names, name)
	}
	return names
}

// ParseLevel reads a log level.
func ParseLevel(text string) (slog.Level, error) {
	switch text {
	case "debug":
		return slog.LevelDebug, nil
	case "info":
		return slog.LevelInfo, nil
	case "warn":
		return slog.LevelWarn, nil
	case "error":
		return slog.LevelError, nil
	}
	return 0, fmt.Errorf("%q is not one of debug, info, warn, error", text)
}

// layer is a koanf.Provider of settings that have already been checked and typed.
type layer map[string]any

func (l layer) Read() (map[string]any, error) { return l, nil }

func (l layer) ReadBytes() ([]byte, error) { return nil, errors.New("a layer has no bytes") }

// fromFile reads a YAML file whose keys are settings.
func fromFile(path string, target any) (layer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("%w: config: %w; name a file that can be read", ErrSetting, err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, fmt.Errorf("%w: %s: %s", ErrSetting, path, yaml.FormatError(err, false, true))
	}
	values, parse := layer{}, newParser(target)
	for name, value := range document {
		text, err := scalar(value)
		if err == nil {
			values[name], err = parse(name, text)
		}
		if err != nil {
			return nil, fmt.Errorf("%w: %s: %w", ErrSetting, path, err)
		}
	}
	return values, nil
}

// scalar writes a YAML value as it would be written behind a flag.
func scalar(value any) (string, error) {
	switch v := value.(type) {
	case []any:
		items := make([]string, len(v))
		for i, item := range v {
			text, err := scalar(item)
			if err != nil {
				return "", err
			}
			items[i] = text
		}
		return strings.Join(items, ","), nil
	case map[string]any:
		return "", errors.New("settings are not nested; write name: value, one a line")
	case nil:
		return "", nil
	}
	return fmt.Sprint(value), nil
}

// fromEnvironment reads the variables that start with HOUSEFUL_.
func fromEnvironment(environ []string, target any, alsoKnown []string) (layer, error) {
	values, parse := layer{}, newParser(target)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		suffix, ours := strings.CutPrefix(name, EnvPrefix)
		if !ours || isServiceLink(suffix) {
			continue
		}
		setting := strings.ToLower(strings.ReplaceAll(suffix, "_", "-"))
		if slices.Contains(alsoKnown, setting) {
			continue
		}
		parsed, err := parse(setting, value)
		if err != nil {
			return nil, fmt.Errorf("%w: variable %s: %w", ErrSetting, name, err)
		}
		values[setting] = parsed
	}
	return values, nil
}

// isServiceLink recognises the variables that Kubernetes sets in every pod beside a Service called "houseful". They
// look like ours, are nobody's decision, and would keep the server from starting.
func isServiceLink(suffix string) bool {
	return suffix == "PORT" || strings.HasPrefix(suffix, "PORT_") ||
		suffix == "SERVICE_HOST" || suffix == "SERVICE_PORT" || strings.HasPrefix(suffix, "SERVICE_PORT_")
}

// newParser gives a function that reads a setting's value the way its flag would.
func newParser(target any) func(name, text string) (any, error) {
	return func(name, text string) (any, error) {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		Register(flags, target)
		flag := flags.Lookup(name)
		if flag == nil {
			return nil, fmt.Errorf("there is no setting %q; see houseful serve --help", name)
		}
		if err := flag.Value.Set(text); err != nil {
			return nil, fmt.Errorf("%s: %q is no value for it (%s); give a %s", name, text, err, flag.Value.Type())
		}
		return posflag.FlagVal(flags, flag), nil
	}
}

// setting is a field of a configuration struct.
type setting struct {
	field reflect.StructField
	value reflect.Value
}

// settings walks the fields of target in their order, by the setting's name.
func settings(target any) func(yield func(string, setting) bool) {
	value := reflect.ValueOf(target).Elem()
	return func(yield func(string, setting) bool) {
		for i := range value.NumField() {
			field := value.Type().Field(i)
			if name := field.Tag.Get(tag); name != "" && !yield(name, setting{field, value.Field(i)}) {
				return
			}
		}
	}
}
