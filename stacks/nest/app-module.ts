import { Controller, type DynamicModule, HttpCode, Inject, Module, Param, Post, Req, type Type } from '@nestjs/common'
import { TypeOrmModule } from '@nestjs/typeorm'
import { postgres } from '@outlay/adapters-pg'
import { typeormDriver } from '@outlay/adapters-pg/typeorm'
import type { Engine } from '@outlay/core'
import { httpGateway, httpWebhooks, outlayKeyLifetimeMs } from '@outlay/http-client'
import { OutlayEngine, OutlayModule, receiveWebhook, type WebhookRequest } from '@outlay/nestjs'
import { DataSource, type EntityManager } from 'typeorm'
import { Invoice, type Payouts, providePayouts } from './payouts.js'

@Controller('webhooks')
class WebhookController {
  constructor(@Inject(OutlayEngine) private readonly engine: Engine<EntityManager>) {}

  @Post(':accountId')
  @HttpCode(200)
  receive(@Req() request: WebhookRequest, @Param('accountId') accountId: string): Promise<void> {
    return receiveWebhook(this.engine, request, { accountId })
  }
}

@Module({})
class AppModule {}

/** A host that pays invoices. */
export function appModule(payouts: Type<Payouts>): DynamicModule {
  const { DATABASE_URL = '', SERVICE_URL = '', CLIENT_ID = '', CLIENT_SECRET = '' } = process.env
  return {
    module: AppModule,
    imports: [
      TypeOrmModule.forRoot({
        type: 'postgres',
        url: DATABASE_URL,
        entities: [Invoice],
        synchronize: true,
        poolSize: 20,
      }),
      OutlayModule.forRootAsync({
        inject: [DataSource],
        useFactory: (dataSource: DataSource) => ({
          backend: postgres({ driver: typeormDriver(dataSource) }),
          gateway: httpGateway({
            baseUrl: SERVICE_URL,
            credentials: { clientId: CLIENT_ID, clientSecret: CLIENT_SECRET },
            keyLifetimeMs: outlayKeyLifetimeMs,
          }),
          webhooks: httpWebhooks({ secrets: async () => 'a secret of nobody' }),
        }),
      }),
    ],
    controllers: [WebhookController],
    providers: [providePayouts(payouts)],
  }
}
