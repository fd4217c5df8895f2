package bundle

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	ekstypes "github.com/aws/aws-sdk-go-v2/service/eks/types"
)

// contents holds all files of a bundle, in the types of the clients that return them.
type contents struct {
	at      time.Time          // zero if unknown
	files   map[string]filed   // each a *table of the rows that its spec names
	refused map[string]refusal // what the API server answered instead, by file
	entries bool               // whether all access entries were listed
}

func newContents() *contents {
	c := &contents{files: map[string]filed{}, refused: map[string]refusal{}}
	for i := range specs {
		c.files[specs[i].name] = specs[i].table()
	}
	for _, folder := range []string{folderUserData, folderConsole, folderHostLogs} {
		c.files[folder] = newTable[[]byte](folder, nil)
	}
	return c
}

func tableOf[T any](c *contents, file string) *table[T] { return c.files[file].(*table[T]) }

// instance is an instance with the data of its reservation.
type instance struct {
	types.Instance
	reservation types.Reservation // without its instances
}

// accessEntry is an access entry as describe-access-entry prints it, or only the ARN from
// list-access-entries.
type accessEntry struct {
	ekstypes.AccessEntry
	listed bool // only PrincipalArn is known
}

func (c *contents) cluster() *table[ekstypes.Cluster] {
	return tableOf[ekstypes.Cluster](c, fileCluster)
}
func (c *contents) instances() *table[instance] { return tableOf[instance](c, fileInstances) }
func (c *contents) accessEntries() *table[accessEntry] {
	return tableOf[accessEntry](c, fileAccessEntries)
}
func (c *contents) nodeGroups() *table[ekstypes.Nodegroup] {
	return tableOf[ekstypes.Nodegroup](c, fileNodeGroups)
}
func (c *contents) objects(file string) *table[item] { return tableOf[item](c, file) }
