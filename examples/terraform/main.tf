# An application with its key, a reactor and a proxy. See README.md.

terraform {
  required_version = ">= 1.5"
  required_providers {
    basistheory = {
      source  = "Basis-Theory/basistheory"
      version = "~> 5.1"
    }
  }
}

variable "vault_url" {
  description = "The address of the vault, such as https://vault.example.com"
  type        = string
}

variable "partner_url" {
  description = "Where the proxy sends requests"
  type        = string
  default     = "https://partner.example.com/charges"
}

# The management key comes from the variable BASISTHEORY_API_KEY of the environment.
provider "basistheory" {
  api_url = var.vault_url
}

resource "basistheory_application" "back_end" {
  name = "Back end"
  type = "private"
  rule {
    description = "Store cards, and read them masked"
    priority    = 1
    container   = "/pci/"
    transform   = "mask"
    permissions = ["token:create", "token:read"]
  }
  rule {
    description = "Use cards in proxies and reactors"
    priority    = 2
    container   = "/pci/"
    transform   = "reveal"
    permissions = ["token:use"]
  }
}

resource "basistheory_application_key" "back_end" {
  application_id = basistheory_application.back_end.id
}

resource "basistheory_reactor" "double" {
  name = "Double"
  code = "module.exports = async ({ args }) => ({ raw: { doubled: 2 * args.n } });"
}

resource "basistheory_proxy" "partner" {
  name            = "Partner"
  destination_url = var.partner_url
  require_auth    = true
}

# The state of Terraform holds it in the clear: keep the state where you keep secrets.
output "back_end_key" {
  value     = basistheory_application_key.back_end.key
  sensitive = true
}
