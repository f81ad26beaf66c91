import type { Client } from '@outlay/http-client'

/** A bank account of a tenant that was linked at the provider, and can be debited while its login lasts. */
export interface LinkedBank {
  readonly id: string
  /** Its owner has to log in again. */
  loseLogin(): Promise<void>
  /** Its owner does. */
  relink(): Promise<void>
}

/** Links a bank account. `simulate` calls a route that only a sandbox has. */
export async function linkBank(
  client: Client,
  accountId: string,
  simulate: (what: string, body: object) => Promise<unknown>,
): Promise<LinkedBank> {
  const register = async (linkToken: string) => {
    const { public_token: publicToken } = (await simulate(`bank-links/${linkToken}/complete`, {})) as {
      readonly public_token: string
    }
    return client.bankLinks.registerAccount(accountId, { publicToken })
  }
  const { linkToken } = await client.bankLinks.createLinkToken(accountId)
  const { financialInstitutionId: id } = await register(linkToken)
  return {
    id,
    async loseLogin() {
      await simulate(`financial-institutions/${id}/login-required`, {})
    },
    async relink() {
      await register((await client.financialInstitutions.createUpdateLinkToken(accountId, id)).linkToken)
    },
  }
}
