package awsauth

import (
	"sync"

	"github.com/sirupsen/logrus"
	"sigs.k8s.io/aws-iam-authenticator/pkg/config"
	"sigs.k8s.io/aws-iam-authenticator/pkg/mapper/configmap"
)

// quiet guards the level of the logger that all of a process shares.
var quiet sync.Mutex

// parseMap is the authenticator's ParseMap without its warnings, which it writes to
// standard error through a logger that it cannot be given. What they say is in the
// error.
func parseMap(data map[string]string) ([]config.UserMapping, []config.RoleMapping, error) {
	quiet.Lock()
	defer quiet.Unlock()
	level := logrus.GetLevel()
	logrus.SetLevel(logrus.PanicLevel)
	defer logrus.SetLevel(level)
	users, roles, _, err := configmap.ParseMap(data)
	return users, roles, err
}
