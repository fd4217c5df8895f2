package awsauth

import (
	"sync"

	"github.com/sirupsen/logrus"
	"sigs.k8s.io/aws-iam-authenticator/pkg/config"
	"sigs.k8s.io/aws-iam-authenticator/pkg/mapper/configmap"
)

// quiet guards the level of the logger, which the whole process shares.
var quiet sync.Mutex

// parseMap is the authenticator's ParseMap without its warnings. ParseMap writes these to standard
// error through a logger that cannot be replaced. The error has the same content.
func parseMap(data map[string]string) ([]config.UserMapping, []config.RoleMapping, error) {
	quiet.Lock()
	defer quiet.Unlock()
	level := logrus.GetLevel()
	logrus.SetLevel(logrus.PanicLevel)
	defer logrus.SetLevel(level)
	users, roles, _, err := configmap.ParseMap(data)
	return users, roles, err
}
