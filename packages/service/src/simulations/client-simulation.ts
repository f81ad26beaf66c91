import type { ServiceContext } from '../context.ts'
import { shareWaitMs, withinShare } from '../database/pool-share.ts'
import type { RailSimulation } from '../rails/simulated/simulated-rails.ts'

/**
 * The same for one client. The simulation works as the system, but the client has asked, so it takes of the share of the client: a request
 * that waits for a lock must not take the connections of others.
 */
export function simulationFor(context: ServiceContext, clientId: string, simulation: RailSimulation): RailSimulation {
  const shared =
    <Given extends readonly unknown[], Result>(method: (...given: Given) => Promise<Result>) =>
    (...given: Given): Promise<Result> =>
      withinShare(context, clientId, { limitMs: shareWaitMs }, () => method(...given))
  return {
    now: simulation.now,
    advance: shared(simulation.advance),
    settle: shared(simulation.settle),
    reject: shared(simulation.reject),
    returnWith: shared(simulation.returnWith),
    findStatementLine: shared(simulation.findStatementLine),
    acceptOffer: shared(simulation.acceptOffer),
    receiveWire: shared(simulation.receiveWire),
    findVirtualAccount: shared(simulation.findVirtualAccount),
    receiveDeposit: shared(simulation.receiveDeposit),
    tick: shared(simulation.tick),
  }
}
