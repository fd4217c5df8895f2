variable "name" {
  type        = string
  default     = "rollcall"
  description = "Name of the stack."
}

variable "template_url" {
  type        = string
  description = "Where the packaged and transformed template lies, in a bucket of the region. Each version needs another URL; with the same one nothing is updated. See infra/README.md."

  validation {
    condition     = startswith(var.template_url, "https://")
    error_message = "template_url must be an https URL."
  }
}

variable "code_bucket" {
  type        = string
  default     = ""
  description = "Bucket of the region that holds the code of a release; empty for a template of \"sam package\"."

  validation {
    condition     = can(regex("^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$", var.code_bucket))
    error_message = "code_bucket must be empty or the name of a bucket."
  }
}

variable "code_prefix" {
  type        = string
  default     = ""
  description = "Folder in that bucket; empty for the one of the release, such as rollcall/1.0.0."
}

variable "tags" {
  type        = map(string)
  default     = {}
  description = "Tags of the stack and of every resource in it that takes tags."
}

# From here on, what template.yaml takes.

variable "mode" {
  type        = string
  default     = "observe"
  description = "The most that happens. observe looks and logs; notify also tags instances and publishes notices; remediate also cordons, drains, reboots and terminates. The roles get no more permissions than the mode needs. The policy can lower the mode, for all or for some clusters, and never raise it."

  validation {
    condition     = contains(["observe", "notify", "remediate"], var.mode)
    error_message = "mode must be one of observe, notify, remediate."
  }
}

variable "policy_parameter" {
  type        = string
  default     = "/rollcall/policy"
  description = "Name of the SSM parameter that holds the policy document. The stack never writes it, and acts on nothing until you do. none asks for the built-in policy."

  validation {
    condition     = can(regex("^(none|(/[A-Za-z0-9_.-]+){1,15})$", var.policy_parameter))
    error_message = "policy_parameter must be none, or the name of an SSM parameter that begins with a slash, such as /rollcall/policy."
  }
}

variable "policy_key_arn" {
  type        = string
  default     = ""
  description = "Customer managed key of the policy parameter, if it is a SecureString encrypted with one; empty otherwise."

  validation {
    condition     = can(regex("^(arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+)?$", var.policy_key_arn))
    error_message = "policy_key_arn must be empty or the ARN of a KMS key, not of an alias."
  }
}

variable "chat_approval" {
  type        = bool
  default     = false
  description = "Whether to add a function with which a button in a chat approves acts that a ladder asks about, in mode remediate. Whoever may invoke it may approve. See infra/slack.yaml."
}

variable "warn_after" {
  type        = string
  default     = "5m"
  description = "How long after its launch an instance may take to register before it is warned about, where the policy does not say."

  validation {
    condition     = can(regex("^([1-9][0-9]{0,5}s|[1-9][0-9]{0,3}m([1-9][0-9]?s)?|([1-9][0-9]?|[1-6][0-9]{2})h([1-9][0-9]?m)?([1-9][0-9]?s)?|7[01][0-9]h|720h)$", var.warn_after))
    error_message = "warn_after must be a duration such as 90s, 5m or 1h30m, and 720h at most."
  }
}

variable "deadline" {
  type        = string
  default     = "15m"
  description = "How long after its launch an instance may take to register at most, where the policy does not say. Not shorter than WarnAfter."

  validation {
    condition     = can(regex("^([1-9][0-9]{0,5}s|[1-9][0-9]{0,3}m([1-9][0-9]?s)?|([1-9][0-9]?|[1-6][0-9]{2})h([1-9][0-9]?m)?([1-9][0-9]?s)?|7[01][0-9]h|720h)$", var.deadline))
    error_message = "deadline must be a duration such as 90s, 15m or 1h30m, and 720h at most."
  }
}

variable "sweep_rate" {
  type        = string
  default     = "rate(5 minutes)"
  description = "How often every cluster is checked. Deadlines of new instances are checked to the minute anyway."

  validation {
    condition     = can(regex("^rate\\(([2-9]|10) minutes\\)$", var.sweep_rate))
    error_message = "sweep_rate must be a rate from rate(2 minutes) to rate(10 minutes)."
  }
}

variable "vpc_ids" {
  type        = string
  default     = ""
  description = "VPCs whose clusters this deployment checks, separated by commas; empty for all clusters of the region."

  validation {
    condition     = can(regex("^(vpc-[0-9a-f]+(,vpc-[0-9a-f]+)*)?$", var.vpc_ids))
    error_message = "vpc_ids must be empty or VPC ids such as vpc-0123456789abcdef0, separated by commas."
  }
}

variable "notification_email" {
  type        = string
  default     = ""
  description = "Address that receives every notice and alarm as text; empty for none. More subscriptions can be added to the topic."

  validation {
    condition     = can(regex("^$|^[^@\\s]+@[^@\\s]+\\.[^@\\s]+$", var.notification_email))
    error_message = "notification_email must be empty or an email address."
  }
}

variable "log_retention_days" {
  type        = number
  default     = 30
  description = "How many days the functions' logs are kept."

  validation {
    condition     = contains([1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731], var.log_retention_days)
    error_message = "log_retention_days must be one of 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731."
  }
}

variable "evidence_days" {
  type        = number
  default     = 90
  description = "How many days the evidence of findings is kept; what was deleted can be brought back for another 30."

  validation {
    condition     = var.evidence_days >= 1 && var.evidence_days <= 3650
    error_message = "evidence_days must be a number of days from 1 to 3650."
  }
}

variable "keep_checks" {
  type        = bool
  default     = true
  description = "Whether each check that found something is kept in the evidence bucket, in every mode, for rollcall replay."
}

variable "subnet_ids" {
  type        = string
  default     = ""
  description = "Subnets from which private API servers are reached, and public ones that admit some addresses only, separated by commas; empty if all admit everybody. See infra/README.md."

  validation {
    condition     = can(regex("^(subnet-[0-9a-f]+(,subnet-[0-9a-f]+)*)?$", var.subnet_ids))
    error_message = "subnet_ids must be empty or subnet ids such as subnet-0123456789abcdef0, separated by commas."
  }
}

variable "security_group_ids" {
  type        = string
  default     = ""
  description = "Security groups of the functions in these subnets, separated by commas."

  validation {
    condition     = can(regex("^(sg-[0-9a-f]+(,sg-[0-9a-f]+)*)?$", var.security_group_ids))
    error_message = "security_group_ids must be empty or security group ids such as sg-0123456789abcdef0, separated by commas."
  }
}

variable "permissions_boundary_arn" {
  type        = string
  default     = ""
  description = "Permissions boundary of every role that the stack creates; empty for none. A name instead of an ARN, such as platform/boundary, means the policy of that name in the account of the stack."

  validation {
    condition     = can(regex("^(arn:[a-z-]+:iam::([0-9]{12}|aws):policy/.+|[A-Za-z0-9+=,.@_/-]+)?$", var.permissions_boundary_arn))
    error_message = "permissions_boundary_arn must be empty, the ARN of a managed policy, or its path and name without a leading slash."
  }
}

variable "role_path" {
  type        = string
  default     = "/"
  description = "Path of every role that the stack creates."

  validation {
    condition     = can(regex("^/([A-Za-z0-9._-]+/){0,10}$", var.role_path))
    error_message = "role_path must be a path that begins and ends with a slash, such as /platform/."
  }
}

variable "read_console_and_user_data" {
  type        = bool
  default     = true
  description = "Whether console output and user data, which may hold secrets, are read to find causes. With false the roles may read neither console output nor launch templates, and causes that rest on these are reported as not checked."
}

variable "host_logs" {
  type        = bool
  default     = false
  description = "Whether the SSM agents of instances with a finding are asked for the ends of their logs, by one fixed document of the stack. It needs ReadConsoleAndUserData. SSM keeps what the instances print for 30 days, as it was printed."
}

variable "kms_key_arn" {
  type        = string
  default     = ""
  description = "Customer managed key of logs, table, queues, topics and bucket; empty for the keys of AWS. Its key policy is infra/key-policy.json."

  validation {
    condition     = can(regex("^(arn:[a-z-]+:kms:[a-z0-9-]+:[0-9]{12}:key/[A-Za-z0-9-]+)?$", var.kms_key_arn))
    error_message = "kms_key_arn must be empty or the ARN of a KMS key, not of an alias."
  }
}

variable "existing_table" {
  type        = string
  default     = ""
  description = "Ledger table of an earlier stack, so that a new stack forgets nothing; empty to create one."

  validation {
    condition     = can(regex("^([A-Za-z0-9_.-]{3,255})?$", var.existing_table))
    error_message = "existing_table must be empty or the name of a table."
  }
}

variable "existing_bucket" {
  type        = string
  default     = ""
  description = "Evidence bucket of an earlier stack; empty to create one."

  validation {
    condition     = can(regex("^([a-z0-9][a-z0-9.-]{1,61}[a-z0-9])?$", var.existing_bucket))
    error_message = "existing_bucket must be empty or the name of a bucket."
  }
}

variable "detailed_metrics" {
  type        = bool
  default     = false
  description = "Whether every metric is also written by cluster and by service. Each cluster then has 22 metrics and up to 85 for its kinds of findings and reasons, at USD 0.30 a month each while they receive data. The log has these numbers either way."
}

variable "table_deletion_protection" {
  type        = bool
  default     = false
  description = "Whether the ledger table is protected from deletion. The table outlives the stack either way."
}

variable "table_point_in_time_recovery" {
  type        = bool
  default     = true
  description = "Whether the ledger table can be restored to any second of the last 35 days."
}

variable "tracing" {
  type        = bool
  default     = false
  description = "Whether the functions write traces to AWS X-Ray."
}

variable "reserve_concurrency" {
  type        = bool
  default     = false
  description = "Whether one concurrent execution is reserved for the sweep. Nothing depends on it. Lambda refuses it where fewer than 100 executions of the account would stay unreserved."
}
