import { Injectable } from '@nestjs/common';
import OpenAI from 'openai';

const INSTRUCTIONS = 'You explain the law of tenancy to tenants. You give no legal advice.';

@Injectable()
export class AssistantService {
  private readonly client = new OpenAI();

  async answer(question: string): Promise<string> {
    const completion = await this.client.chat.completions.create({
      model: 'gpt-5-mini',
      messages: [
        { role: 'system', content: INSTRUCTIONS },
        { role: 'user', content: question },
      ],
    });
    return completion.choices[0].message.content ?? '';
  }
}
