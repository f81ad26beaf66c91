/** Why the work of a transaction failed whose session the engine has ended, or has left to the server to end. */
export class SessionEnded extends Error {}
